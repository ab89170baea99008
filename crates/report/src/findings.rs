//! Whether what an experiment expects holds.

use std::fmt::Write as _;

use quiclab_experiment::{Bound, Comparable, Expectation};
use quiclab_metrics::{Summary, difference_by_chance};
use serde::Serialize;

use crate::{groups::Group, input::ReportInput};

/// Differences that chance makes less often than this are taken for real.
const SIGNIFICANT: f64 = 0.05;

/// One expectation about one group of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What was to hold.
    pub claim: String,
    /// The metric it is judged by.
    pub metric: String,
    /// The runs it is about; `None` where there are none.
    pub of: Option<Side>,
    /// Which side of the number is right.
    pub bound: Bound,
    /// In the unit of the metric, or a factor of `with`.
    pub number: f64,
    /// The runs it is compared with; `None` for a plain number.
    pub with: Option<Side>,
    /// How often chance alone makes a difference like this, Welch's t-test; `None` where nothing was repeated.
    pub p: Option<f64>,
    /// What came of it.
    pub outcome: Outcome,
}

/// Runs with the same settings, and the metric over them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// Name of the group.
    pub label: String,
    /// Number of runs with a value.
    pub count: usize,
    /// Mean of the metric.
    pub mean: f64,
    /// Its standard deviation; `None` of a single run.
    pub standard_deviation: Option<f64>,
}

/// What came of an expectation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The means are as they should be.
    Holds,
    /// They are not, and that is not chance, or nothing is known of chance.
    Fails,
    /// They are not, but chance alone makes such differences too often.
    Undecided,
    /// There are no numbers to judge by, and why.
    NotMeasured(String),
}

/// Repetitions of one thing, as expectations see them.
pub(crate) trait Repeated {
    /// A short name, unlike that of every other group.
    fn label(&self) -> &str;

    /// A metric of every run that has it.
    fn values(&self, metric: &str) -> Vec<f64>;
}

impl Repeated for Group<'_> {
    fn label(&self) -> &str {
        &self.label
    }

    fn values(&self, metric: &str) -> Vec<f64> {
        self.runs.iter().filter_map(|run| run.metrics.metrics.value(metric).flatten()).collect()
    }
}

/// Judges every expectation of a report, each for every group that it is about.
pub fn findings(input: &ReportInput) -> Vec<Finding> {
    let groups = Group::all(input);
    let settings: Vec<_> = groups.iter().map(|group| group.settings).collect();
    judge_all(&input.expectations, &groups, &settings)
}

/// Judges expectations, each for every group that it is about; the groups' settings in the same order.
pub(crate) fn judge_all<G: Repeated, S: Comparable>(
    expectations: &[Expectation],
    groups: &[G],
    settings: &[&S],
) -> Vec<Finding> {
    let judge_one = |expectation: &Expectation| {
        let subjects = expectation.subjects(settings);
        if subjects.is_empty() {
            return vec![unmeasured::<G>(expectation, None, "no run has these settings")];
        }
        let found = subjects.iter().map(|subject| {
            let of = &groups[subject.of];
            match subject.with.as_deref() {
                None => judge(expectation, of, None),
                Some([one]) => judge(expectation, of, Some(&groups[*one])),
                Some([]) => unmeasured(expectation, Some(of), "no run to compare with"),
                Some(_) => unmeasured(expectation, Some(of), "several groups of runs to compare with, expected one"),
            }
        });
        found.collect()
    };
    expectations.iter().flat_map(judge_one).collect()
}

fn judge<G: Repeated>(expectation: &Expectation, of: &G, with: Option<&G>) -> Finding {
    let missing = |group: &G| {
        unmeasured(expectation, Some(of), &format!("{} has no value in {}", expectation.metric, group.label()))
    };
    let Some(value) = summary(of, &expectation.metric, 1.0) else { return missing(of) };
    let other = match with {
        None => Summary::of([expectation.number]),
        Some(group) => summary(group, &expectation.metric, expectation.number),
    };
    let Some(other) = other else { return missing(with.unwrap_or(of)) };
    let p = difference_by_chance(&value, &other);
    let outcome = if expectation.bound.holds(value.mean, other.mean) {
        Outcome::Holds
    } else if p.is_some_and(|p| p >= SIGNIFICANT) {
        Outcome::Undecided
    } else {
        Outcome::Fails
    };
    let with = with.and_then(|group| Some(side(group, &summary(group, &expectation.metric, 1.0)?)));
    Finding { of: Some(side(of, &value)), with, p, outcome, ..unmeasured::<G>(expectation, None, "") }
}

/// The metric over a group's runs, each times `factor`.
fn summary(group: &impl Repeated, metric: &str, factor: f64) -> Option<Summary> {
    Summary::of(group.values(metric).into_iter().map(|value| value * factor))
}

fn side(group: &impl Repeated, summary: &Summary) -> Side {
    let Summary { count, mean, standard_deviation, .. } = *summary;
    Side { label: group.label().to_owned(), count, mean, standard_deviation }
}

fn unmeasured<G: Repeated>(expectation: &Expectation, of: Option<&G>, why: &str) -> Finding {
    let Expectation { claim, metric, bound, number, .. } = expectation;
    let why = of.map_or_else(|| why.to_owned(), |group| format!("{}: {why}", group.label()));
    Finding {
        claim: claim.clone(),
        metric: metric.clone(),
        of: None,
        bound: *bound,
        number: *number,
        with: None,
        p: None,
        outcome: Outcome::NotMeasured(why),
    }
}

impl Outcome {
    /// A word for people.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Holds => "holds",
            Outcome::Fails => "FAILS",
            Outcome::Undecided => "undecided",
            Outcome::NotMeasured(_) => "NOT MEASURED",
        }
    }
}

impl Finding {
    /// The numbers in a line.
    pub fn numbers(&self) -> String {
        if let Outcome::NotMeasured(why) = &self.outcome {
            return why.clone();
        }
        let Some(of) = &self.of else { return String::new() };
        let mut text = format!("{}: {of}, expected {} ", self.metric, self.bound.key().replace('_', " "));
        let _ = match &self.with {
            None => write!(text, "{}", number(self.number)),
            Some(with) if self.number == 1.0 => write!(text, "{with}"),
            Some(with) => write!(text, "{} times {with}", number(self.number)),
        };
        if let Some(p) = self.p {
            let _ = if p < 0.001 { write!(text, "; p < 0.001") } else { write!(text, "; p = {p:.3}") };
        }
        text
    }
}

impl std::fmt::Display for Side {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", number(self.mean))?;
        if let Some(deviation) = self.standard_deviation {
            write!(formatter, " \u{b1} {}", number(deviation))?;
        }
        write!(formatter, " ({}, n = {})", self.label, self.count)
    }
}

/// Four significant digits, no exponent.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    let text = format!("{value:.*}", digits.max(0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Every finding in two lines, and how many there are of each kind.
pub fn render_findings(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let _ = writeln!(text, "{:<12}  {}\n{:14}{}", finding.outcome.word(), finding.claim, "", finding.numbers());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_and_no_exponent() {
        let shown = [0.0, 1.0, 0.98765, 0.000_123_456, 12.345, 37_212_345.6, -2.5].map(number);
        assert_eq!(shown, ["0", "1", "0.9877", "0.0001235", "12.35", "37212346", "-2.5"]);
    }
}
