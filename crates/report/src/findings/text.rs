//! Verdicts in words.

use std::fmt::Write as _;

use quiclab_experiment::Compared;

use super::finding::{Basis, Finding, Interval, Outcome, Side};
use crate::{number::number, quantity::Shown};

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
        if let (Some(losses), Some(with)) = (&self.losses, &self.with) {
            return format!("{}: {}", self.shown.words, losses.in_words([&of.label, &with.label]));
        }
        let shown = &self.shown;
        let mut text =
            format!("{}: {}, expected {} ", shown.words, side(of, shown), self.bound.key().replace('_', " "));
        let _ = match &self.with {
            None => write!(text, "{}{}", shown.value(self.number), shown.unit_behind()),
            Some(with) if self.compared_as == Compared::Difference => {
                write!(text, "{}{} more than {}", shown.value(self.number), shown.unit_behind(), side(with, shown))
            }
            Some(with) if self.number == 1.0 => write!(text, "{}", side(with, shown)),
            Some(with) => write!(text, "{} times {}", number(self.number), side(with, shown)),
        };
        match (self.judged_by, self.interval) {
            (Some(Basis::Interval), Some(interval)) => {
                let of = if self.with.is_some() { "difference, " } else { "" };
                let _ = write!(text, "; {of}{}", in_words(interval, shown));
            }
            (Some(Basis::OneRun), _) if self.outcome == Outcome::Undecided => {
                text.push_str("; one run in real time, so nothing is known of chance");
            }
            (Some(Basis::OneRun), _) => text.push_str("; one run, so no interval"),
            _ => {}
        }
        if let Some(look) = self.look.filter(|look| *look > 1) {
            let _ = write!(text, ", evaluation {look}");
        }
        text
    }
}

/// `36.1 ± 0.2 Mbit/s (baseline, n = 4)`.
fn side(side: &Side, shown: &Shown) -> String {
    let deviation = side.standard_deviation.map_or(String::new(), |one| format!(" \u{b1} {}", shown.value(one)));
    format!("{}{deviation}{} ({}, n = {})", shown.value(side.mean), shown.unit_behind(), side.label, side.count)
}

/// `95 % interval 35.9 to 36.3 Mbit/s`.
fn in_words(interval: Interval, shown: &Shown) -> String {
    let Interval { low, high, level } = interval;
    let level = number(level * 100.0);
    format!("{level} % interval {} to {}{}", shown.value(low), shown.value(high), shown.unit_behind())
}

/// Every finding: the verdict, the claim, its numbers and, if the file names one, its source.
pub fn render_findings(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let _ = writeln!(text, "{:<12}  {}\n{:14}{}", finding.outcome.word(), finding.claim, "", finding.numbers());
        if let Some(source) = &finding.source {
            let _ = writeln!(text, "{:14}source: {source}", "");
        }
    }
    text
}
