//! Verdicts in words.

use std::fmt::Write as _;

use super::{Basis, Finding, Interval, Outcome, Side};

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
        match (self.judged_by, self.interval) {
            (Some(Basis::Interval), Some(interval)) => {
                let _ = write!(text, "; {}{interval}", if self.with.is_some() { "difference, " } else { "" });
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

impl std::fmt::Display for Side {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", number(self.mean))?;
        if let Some(deviation) = self.standard_deviation {
            write!(formatter, " \u{b1} {}", number(deviation))?;
        }
        write!(formatter, " ({}, n = {})", self.label, self.count)
    }
}

impl std::fmt::Display for Interval {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { low, high, level } = *self;
        write!(formatter, "{} % interval {} to {}", number(level * 100.0), number(low), number(high))
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
