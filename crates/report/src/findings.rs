//! Whether the expectations of an experiment hold.
//!
//! A claim is judged by an interval: that of the mean, or of the difference of two means. docs/reference/experiment-file.md says how.

mod interim_analyses;
mod losses;
mod markdown;
mod quantity;
#[cfg(test)]
mod tests;
mod text;

use quiclab_content::Lost;
use quiclab_experiment::{Bound, Comparable, Compared, Expectation, run::is_sample};
use quiclab_metrics::{Estimate, Summary};
use serde::Serialize;

use crate::{groups::Group, input::ReportInput};

pub use interim_analyses::InterimAnalyses;
pub use losses::FoundLosses;
pub(crate) use losses::notes_on_losses;
pub use markdown::{FINDINGS_HEAD, findings_as_rows};
pub(crate) use quantity::{Shown, name_and_unit};
pub(crate) use text::number;
pub use text::render_findings;

/// Probability with which an interval may miss the true value.
const ALPHA: f64 = 0.05;

/// One expectation about one group of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What is expected, in words.
    pub claim: String,
    /// Where the claim comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The metric it is judged by.
    pub metric: String,
    /// The runs it is about; `None` where there are none.
    pub of: Option<Side>,
    /// Which side of the number is right.
    pub bound: Bound,
    /// Number that the mean is held against, in the unit of the metric, or a factor of `with`.
    pub number: f64,
    /// Where there is `with`: whether `number` is a factor of it, or what lies between the two.
    #[serde(skip_serializing_if = "is_ratio")]
    pub compared_as: Compared,
    /// The runs it is compared with; `None` for a plain number.
    pub with: Option<Side>,
    /// What the verdict rests on; `None` where nothing was measured.
    pub judged_by: Option<Basis>,
    /// Interval of the mean or, with `with`, of the difference `of.mean - number * with.mean`, or `of.mean - with.mean`. `None` where a
    /// side has a single run.
    pub interval: Option<Interval>,
    /// How often chance alone makes a difference like this (Student's or Welch's t-test, two-sided); `None` as for `interval`.
    pub p: Option<f64>,
    /// Which evaluation decided, counted from 1, where runs were repeated until claims were decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look: Option<u32>,
    /// What was lost, of a claim that the same was lost. `None` of a claim about a metric, and where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<FoundLosses>,
    /// The verdict.
    pub outcome: Outcome,
    /// How the metric is shown to people.
    #[serde(skip)]
    pub(crate) shown: Shown,
    /// The groups of runs in it, by their places in the report.
    #[serde(skip)]
    pub(crate) groups: Vec<usize>,
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

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability with which such an interval contains the true value.
    pub level: f64,
}

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The interval.
    Interval,
    /// The values alone: one side has a single run, and nothing is known of chance.
    OneRun,
    /// Every pair of runs with the same seed.
    EveryPair,
}

/// The verdict on an expectation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All of the interval is on the right side or, of single runs, the value is.
    Holds,
    /// All of it is on the wrong side.
    Fails,
    /// The interval has parts on both sides.
    Undecided,
    /// There are no numbers to judge by, and why.
    NotMeasured(String),
}

/// Repetitions of one thing, as expectations see them.
pub(crate) trait Repeated {
    /// A short name, unlike that of every other group.
    fn label(&self) -> &str;

    /// A metric of every run that has it, with the number of the run's repetition.
    fn repetitions(&self, metric: &str) -> Vec<(u32, f64)>;

    /// Whether a run of them is one sample of real time, of which another one would be different.
    fn is_sample(&self) -> bool {
        false
    }

    /// What the path of every run lost, with the number of the run's repetition; `None` where that is not known.
    fn losses(&self) -> Vec<(u32, Option<&Lost>)> {
        Vec::new()
    }
}

impl Repeated for Group<'_> {
    fn label(&self) -> &str {
        &self.label
    }

    fn repetitions(&self, metric: &str) -> Vec<(u32, f64)> {
        let value =
            |run: &&crate::input::RunRow| Some((run.run.repetition, run.metrics.metrics.value(metric).flatten()?));
        self.runs.iter().filter_map(value).collect()
    }

    fn is_sample(&self) -> bool {
        self.runs.iter().any(|run| is_sample(&run.versions))
    }

    fn losses(&self) -> Vec<(u32, Option<&Lost>)> {
        self.runs.iter().map(|run| (run.run.repetition, run.lost.as_ref())).collect()
    }
}

/// Judges every expectation of a report, each for every group that it is about.
pub fn findings(input: &ReportInput) -> Vec<Finding> {
    let groups = Group::all(input);
    let settings: Vec<_> = groups.iter().map(|group| group.settings).collect();
    judge_all(&input.expectations, &groups, &settings, input.looks)
}

/// Judges expectations, each for every group that it is about; the groups' settings in the same order. `looks` where runs were repeated
/// until claims were decided.
pub(crate) fn judge_all<G: Repeated, S: Comparable>(
    expectations: &[Expectation],
    groups: &[G],
    settings: &[&S],
    looks: Option<InterimAnalyses>,
) -> Vec<Finding> {
    let judge_one = |expectation: &Expectation| {
        let subjects = expectation.subjects(settings);
        if subjects.is_empty() {
            return vec![unmeasured::<G>(expectation, None, "no run has these settings")];
        }
        let found = subjects.iter().map(|subject| {
            let of = &groups[subject.of];
            let finding = match subject.with.as_deref() {
                None => judge(expectation, of, None, looks),
                Some([one]) if expectation.is_of_losses() => losses::judge(expectation, of, &groups[*one]),
                Some([one]) => judge(expectation, of, Some(&groups[*one]), looks),
                Some([]) => unmeasured(expectation, Some(of), "no run to compare with"),
                Some(_) => unmeasured(expectation, Some(of), "several groups of runs to compare with, expected one"),
            };
            let with = subject.with.iter().flatten().copied();
            Finding { groups: [subject.of].into_iter().chain(with).collect(), ..finding }
        });
        found.collect()
    };
    expectations.iter().flat_map(judge_one).collect()
}

/// Evaluates once with all runs or, where runs were repeated until claims were decided, as often as that was done: with the first
/// repetitions, then with more, up to the evaluation that decided.
fn judge<G: Repeated>(expectation: &Expectation, of: &G, with: Option<&G>, looks: Option<InterimAnalyses>) -> Finding {
    let values = |group: &G| group.repetitions(&expectation.metric);
    let all = [Some(values(of)), with.map(values)];
    let up_to = |most: u32| {
        all.clone().map(|side| side.map(|side| side.into_iter().filter(|(number, _)| *number <= most).collect()))
    };
    let Some(looks) = looks else { return evaluate(expectation, of, with, up_to(u32::MAX), ALPHA) };
    let last = all.iter().flatten().flatten().map(|(number, _)| *number).max().unwrap_or(0);
    let mut finding = unmeasured(expectation, Some(of), "no run");
    for (look, repetitions, alpha) in looks.schedule(ALPHA) {
        finding = evaluate(expectation, of, with, up_to(repetitions), alpha);
        finding.look = Some(look);
        if finding.outcome != Outcome::Undecided || last <= repetitions {
            break;
        }
    }
    finding
}

/// A repetition's number and its value, of a claim's runs and of those they are compared with.
type Values = [Option<Vec<(u32, f64)>>; 2];

fn evaluate<G: Repeated>(expectation: &Expectation, of: &G, with: Option<&G>, values: Values, alpha: f64) -> Finding {
    let [own, other] = values.map(|side| side.map(|side| side.into_iter().map(|(_, value)| value).collect::<Vec<_>>()));
    let own = own.unwrap_or_default();
    let missing = |group: &G| {
        unmeasured(expectation, Some(of), &format!("{} has no value in {}", expectation.metric, group.label()))
    };
    let Some(left) = side(of, &own) else { return missing(of) };
    let right = match (with, &other) {
        (Some(group), Some(values)) => match side(group, values) {
            Some(side) => Some(side),
            None => return missing(group),
        },
        _ => None,
    };
    let is_difference = expectation.compared_as == Compared::Difference;
    let factor = if is_difference { 1.0 } else { expectation.number };
    let estimate = match &other {
        None => Estimate::of_mean(&own, 0.0),
        Some(other) => Estimate::unpaired(other, &own, factor, 0.0),
    };
    // Of a factor, the difference between the two sides has to be on the right side of 0.
    let limit = if right.is_some() && !is_difference { 0.0 } else { expectation.number };
    let value = right.as_ref().map_or(left.mean, |right| left.mean - factor * right.mean);
    let interval = estimate.map(|estimate| {
        let (low, high) = estimate.interval(alpha);
        Interval { low, high, level: 1.0 - alpha }
    });
    let ends = interval.map_or([value; 2], |interval| [interval.low, interval.high]);
    Finding {
        of: Some(left),
        with: right,
        judged_by: Some(if interval.is_some() { Basis::Interval } else { Basis::OneRun }),
        interval,
        p: estimate.map(|estimate| Estimate { mean: estimate.mean - limit, ..estimate }.p()),
        // A single run in virtual time is exact: it says what this seed gives. One in real time says nothing of the next.
        outcome: if interval.is_none() && (of.is_sample() || with.is_some_and(Repeated::is_sample)) {
            Outcome::Undecided
        } else {
            match ends.map(|end| expectation.bound.holds(end, limit)) {
                [true, true] => Outcome::Holds,
                [false, false] => Outcome::Fails,
                _ => Outcome::Undecided,
            }
        },
        ..unmeasured::<G>(expectation, None, "")
    }
}

/// `None` without values.
fn side(group: &impl Repeated, values: &[f64]) -> Option<Side> {
    let Summary { count, mean, standard_deviation, .. } = Summary::of(values.iter().copied())?;
    Some(Side { label: group.label().to_owned(), count, mean, standard_deviation })
}

fn is_ratio(compared: &Compared) -> bool {
    *compared == Compared::Ratio
}

fn unmeasured<G: Repeated>(expectation: &Expectation, of: Option<&G>, why: &str) -> Finding {
    let Expectation { claim, source, metric, bound, number, compared_as, .. } = expectation;
    let why = of.map_or_else(|| why.to_owned(), |group| format!("{}: {why}", group.label()));
    Finding {
        claim: claim.clone(),
        source: source.clone(),
        metric: metric.clone(),
        shown: Shown::of_metric(metric),
        of: None,
        bound: *bound,
        number: *number,
        compared_as: *compared_as,
        with: None,
        judged_by: None,
        interval: None,
        p: None,
        look: None,
        losses: None,
        outcome: Outcome::NotMeasured(why),
        groups: Vec::new(),
    }
}
