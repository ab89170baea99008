//! What must not be true of B beside A: `train_max_packets > 1.05x`.

use std::{fmt, str::FromStr};

use quiclab_metrics::{Estimate, find_metric};
use serde::Serialize;

use super::{measure::Values, words};
use crate::{columns::metric_names, number::number};

/// A condition under which B is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The condition as it was written.
    text: String,
    /// The metric it is judged by.
    pub metric: String,
    above: bool,
    inclusive: bool,
    limit: Limit,
}

/// What a metric of B is held against, in the unit of the metric.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// A multiple of the metric of A.
    Ratio(f64),
    /// A value so much above the metric of A.
    Difference(f64),
    /// A plain number.
    Value(f64),
}

/// What came of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConditionOutcome {
    /// The condition is not true of B, and that is not chance.
    Passes,
    /// The condition is true of B, and that is not chance.
    Fails,
    /// The runs are too few, or scatter too much, to tell.
    Undecided,
    /// There are no numbers to judge by.
    NotMeasured,
}

/// A condition, judged for runs of the same settings.
#[derive(Clone, Debug, Serialize)]
pub struct Judgement {
    /// The condition.
    pub condition: String,
    /// Name of the runs.
    pub label: String,
    /// The outcome of the condition.
    pub outcome: ConditionOutcome,
    /// The numbers, or why there are none.
    pub numbers: String,
    /// Estimate of B over A, of B less A, or of B, as the condition has it; `None` where nothing could be estimated.
    pub estimate: Option<f64>,
    /// Confidence interval of the true value, at the level of the conditions.
    pub interval: Option<(f64, f64)>,
}

impl Condition {
    /// Judges the condition by the values of a metric. `alpha` is the chance that the interval misses the truth.
    pub(super) fn judge(&self, label: &str, values: &Values, alpha: f64) -> Judgement {
        let judgement = |outcome, numbers: String, estimate, interval| Judgement {
            condition: self.text.clone(),
            label: label.to_owned(),
            outcome,
            numbers,
            estimate,
            interval,
        };
        if let Some(why) = values.missing() {
            return self.not_measured(label, &why);
        }
        let Some(estimate) = self.estimate(values) else {
            let numbers = format!("{}: too few runs, expected at least two on each side", self.metric);
            return judgement(ConditionOutcome::Undecided, numbers, None, None);
        };
        let (low, high) = estimate.interval(alpha);
        // Beyond the limit, and within it, as a whole.
        let (beyond, within) = match self.above {
            true => (low, -high),
            false => (-high, low),
        };
        let outcome = match self.inclusive {
            false if beyond > 0.0 => ConditionOutcome::Fails,
            true if beyond >= 0.0 => ConditionOutcome::Fails,
            false if within >= 0.0 => ConditionOutcome::Passes,
            true if within > 0.0 => ConditionOutcome::Passes,
            _ => ConditionOutcome::Undecided,
        };
        let Some([middle, low, high]) = self.shown([estimate.mean, low, high], values) else {
            let numbers = format!("{}: A is 0, B {}", self.metric, number(values.means()[1]));
            return judgement(outcome, numbers, None, None);
        };
        let unit = if matches!(self.limit, Limit::Ratio(_)) { "x" } else { "" };
        let shown = |value: f64| format!("{}{unit}", number(value));
        let what = match self.limit {
            Limit::Ratio(_) => "B over A",
            Limit::Difference(_) => "B less A",
            Limit::Value(_) => "B",
        };
        let numbers = format!(
            "{}: {what} is {}, {} interval {} to {}",
            self.metric,
            shown(middle),
            words::level(alpha),
            shown(low),
            shown(high)
        );
        judgement(outcome, numbers, Some(middle), Some((low, high)))
    }

    /// The condition for settings about which it cannot be decided, and why.
    pub(super) fn not_measured(&self, label: &str, why: &str) -> Judgement {
        Judgement {
            condition: self.text.clone(),
            label: label.to_owned(),
            outcome: ConditionOutcome::NotMeasured,
            numbers: format!("{}: {why}", self.metric),
            estimate: None,
            interval: None,
        }
    }

    /// What would be judged if B were the same as A; `None` for a plain number.
    pub(super) fn outcome_of_the_same(&self, label: &str) -> Judgement {
        let beyond = match self.limit {
            Limit::Ratio(ratio) => Some(1.0 - ratio),
            Limit::Difference(difference) => Some(-difference),
            Limit::Value(_) => None,
        };
        let is_true = |beyond: f64| match (self.above, self.inclusive) {
            (true, false) => beyond > 0.0,
            (true, true) => beyond >= 0.0,
            (false, false) => beyond < 0.0,
            (false, true) => beyond <= 0.0,
        };
        let (outcome, numbers) = match beyond.map(is_true) {
            Some(true) => (ConditionOutcome::Fails, "B is A"),
            Some(false) => (ConditionOutcome::Passes, "B is A"),
            None => (ConditionOutcome::Undecided, "nothing was run, so there is no value to judge"),
        };
        Judgement {
            condition: self.text.clone(),
            label: label.to_owned(),
            outcome,
            numbers: format!("{}: {numbers}", self.metric),
            estimate: None,
            interval: None,
        }
    }

    /// How far B is beyond the limit.
    fn estimate(&self, values: &Values) -> Option<Estimate> {
        match self.limit {
            Limit::Ratio(ratio) => values.difference(ratio),
            Limit::Difference(difference) => {
                let estimate = values.difference(1.0)?;
                Some(Estimate { mean: estimate.mean - difference, ..estimate })
            }
            Limit::Value(value) => {
                let estimate = values.of_other()?;
                Some(Estimate { mean: estimate.mean - value, ..estimate })
            }
        }
    }

    /// Distances from the limit as the condition has them; `None` for a ratio to nothing.
    fn shown(&self, distances: [f64; 3], values: &Values) -> Option<[f64; 3]> {
        let [mean, _] = values.means();
        match self.limit {
            Limit::Ratio(_) if mean == 0.0 => None,
            Limit::Ratio(ratio) => {
                let mut shown = distances.map(|distance| ratio + distance / mean);
                shown[1..].sort_by(f64::total_cmp);
                Some(shown)
            }
            Limit::Difference(limit) | Limit::Value(limit) => Some(distances.map(|distance| limit + distance)),
        }
    }
}

impl Judgement {
    /// The same without a judgement, and why.
    pub(super) fn withdrawn(self, why: String) -> Self {
        Self { outcome: ConditionOutcome::NotMeasured, numbers: why, estimate: None, interval: None, ..self }
    }
}

impl ConditionOutcome {
    /// A word for people.
    pub fn word(self) -> &'static str {
        match self {
            ConditionOutcome::Passes => "passes",
            ConditionOutcome::Fails => "FAILS",
            ConditionOutcome::Undecided => "undecided",
            ConditionOutcome::NotMeasured => "NOT MEASURED",
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "METRIC OPERATOR VALUE such as \"train_max_packets > 1.05x\"";
        let place = text.find(['<', '>']).ok_or_else(|| format!("found {text:?}, expected {FORM}"))?;
        let (metric, rest) = text.split_at(place);
        let metric = metric.trim();
        if !metric_names().any(|known| known == metric) {
            let near = quiclab_experiment::error::nearest(metric, metric_names());
            let hint = near.map_or_else(
                || "docs/reference/metrics.md lists them".to_owned(),
                |near| format!("did you mean {near}?"),
            );
            return Err(format!("found {metric:?}, expected the name of a metric\nhint: {hint}"));
        }
        let above = rest.starts_with('>');
        let rest = &rest[1..];
        let (inclusive, value) = rest.strip_prefix('=').map_or((false, rest), |value| (true, value));
        let limit = limit(metric, value.trim())?;
        Ok(Self { text: text.trim().to_owned(), metric: metric.to_owned(), above, inclusive, limit })
    }
}

fn limit(metric: &str, text: &str) -> Result<Limit, String> {
    let end = text.find(|character: char| !(character.is_ascii_digit() || "+-.eE_".contains(character)));
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let wrong = || {
        format!(
            "found the value {text:?}, expected a ratio to A (1.05x), a change relative to A (+5%, -5%, +10), or a \
             plain number, with a unit if the metric has one"
        )
    };
    let plain: f64 = digits.replace('_', "").parse().map_err(|_| wrong())?;
    let finite = |value: f64| match value.is_finite() {
        true => Ok(value),
        false => Err(format!("found the value {text:?}, which is too large, expected a finite number")),
    };
    finite(plain)?;
    let is_change = digits.starts_with(['+', '-']);
    match unit.trim() {
        "x" if !is_change && plain > 0.0 => Ok(Limit::Ratio(plain)),
        "%" if is_change && plain > -100.0 => Ok(Limit::Ratio(1.0 + plain / 100.0)),
        "%" => Err(format!(
            "found {text:?}, expected +{plain}% or -{plain}% for a change relative to A, or a ratio such as 0.95x"
        )),
        unit => {
            let factor = factor(metric, unit).ok_or_else(|| match units(metric) {
                [] => format!("found the unit {unit:?}, but {metric} has none"),
                known => {
                    let known: Vec<_> = known.iter().map(|(name, _)| *name).collect();
                    format!("found the unit {unit:?}, expected one of {} for {metric}", known.join(", "))
                }
            })?;
            let value = finite(plain * factor)?;
            Ok(if is_change { Limit::Difference(value) } else { Limit::Value(value) })
        }
    }
}

/// What a unit is worth in that of the metric; `None` where it is none of this metric.
fn factor(metric: &str, unit: &str) -> Option<f64> {
    if unit.is_empty() {
        return Some(1.0);
    }
    units(metric).iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)
}

/// The units in which a metric can be written.
fn units(metric: &str) -> &'static [(&'static str, f64)] {
    debug_assert!(find_metric(metric).is_some(), "{metric}");
    if metric.ends_with("_ns") {
        &[("ns", 1.0), ("us", 1e3), ("\u{b5}s", 1e3), ("ms", 1e6), ("s", 1e9)]
    } else if metric.ends_with("_bps") {
        &[("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)]
    } else if metric.contains("bytes") {
        &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("KiB", 1024.0), ("MiB", 1_048_576.0)]
    } else if metric.ends_with("packets") || metric.starts_with("packets_") {
        &[("packets", 1.0), ("packet", 1.0)]
    } else {
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Condition {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn refused(text: &str) -> String {
        text.parse::<Condition>().unwrap_err()
    }

    fn values(one: &[f64], other: &[f64]) -> Values {
        let seeded = |values: &[f64]| (1..).zip(values.iter().copied()).collect();
        Values::new("train_max_packets", [seeded(one), seeded(other)], [0, 0], true)
    }

    #[test]
    fn values_are_ratios_changes_or_numbers_with_units() {
        for (text, expected) in [
            ("train_max_packets > 1.05x", Limit::Ratio(1.05)),
            ("goodput_wire_bps < -5%", Limit::Ratio(0.95)),
            ("goodput_wire_bps<36Mbit/s", Limit::Value(36e6)),
            ("rtt_p95_ns >= 45 ms", Limit::Value(45e6)),
            ("drops_packets > +10 packets", Limit::Difference(10.0)),
            ("gap_share_below_100us > 0.5", Limit::Value(0.5)),
            ("burst_max_bytes > 16 KiB", Limit::Value(16_384.0)),
        ] {
            assert_eq!(parsed(text).limit, expected, "{text}");
        }
        assert!(parsed("rtt_p95_ns >= 45 ms").inclusive && !parsed("rtt_p95_ns < 45 ms").above);
    }

    #[test]
    fn what_is_ambiguous_or_unknown_is_refused() {
        assert!(refused("goodput_wire_bps < 95%").contains("expected +95% or -95%"));
        assert!(
            refused("train_max_packet > 3").contains("did you mean train_max_packets?"),
            "{}",
            refused("train_max_packet > 3")
        );
        assert!(refused("rtt_p95_ns > 3 packets").contains("expected one of ns, us"));
        assert!(refused("gap_share_below_100us > 3 ms").contains("has none"));
        assert!(refused("drops_packets").contains("METRIC OPERATOR VALUE"));
        assert!(refused("drops_packets > many").contains("expected a ratio to A"));
        for text in
            ["drops_packets > 1e999", "drops_packets > 1e999x", "drops_packets > +1e999%", "rtt_p95_ns > 1e300 s"]
        {
            assert!(refused(text).contains("expected a finite number"), "{text}: {}", refused(text));
        }
    }

    #[test]
    fn the_interval_decides_and_not_the_mean() {
        // Differences from 1.5 times A: their mean is above 0 in all three; the interval is, is not, and contains it.
        let judged =
            |other: &[f64]| parsed("train_max_packets > 1.5x").judge("x", &values(&[10.0; 4], other), 0.05).outcome;
        assert_eq!(judged(&[20.0, 21.0, 20.0, 21.0]), ConditionOutcome::Fails);
        assert_eq!(judged(&[10.0, 30.0, 12.0, 10.0]), ConditionOutcome::Undecided);
        assert_eq!(judged(&[10.0, 11.0, 12.0, 11.0]), ConditionOutcome::Passes);
    }

    #[test]
    fn equal_counts_pass_a_ratio_only_after_enough_runs() {
        let outcome = |text: &str, count: usize| {
            parsed(text).judge("x", &values(&vec![10.0; count], &vec![10.0; count]), 0.05).outcome
        };
        // The differences from 1.05 times A count as having the variance (1 + 1.1025) / 12, so half the interval of n runs is 0.4186 t / sqrt(n):
        // 1.04 of 3 runs, 0.35 of 8, and the limit is 0.5 away.
        assert_eq!(outcome("train_max_packets > 1.05x", 3), ConditionOutcome::Undecided);
        assert_eq!(outcome("train_max_packets > 1.05x", 8), ConditionOutcome::Passes);
        assert_eq!(outcome("train_max_packets >= 0.95x", 8), ConditionOutcome::Fails);
    }

    #[test]
    fn one_run_decides_nothing_and_no_value_is_said_so() {
        assert_eq!(
            parsed("train_max_packets > 1x").judge("x", &values(&[1.0], &[9.0]), 0.05).outcome,
            ConditionOutcome::Undecided
        );
        let sides = [[(1, 1.0), (2, 1.0)].into(), [].into()];
        let judged = parsed("train_max_packets > 1x").judge("x", &Values::new("x", sides, [0, 2], true), 0.05);
        assert_eq!(judged.outcome, ConditionOutcome::NotMeasured);
        assert!(judged.numbers.contains("0 of 2 runs of A, 2 of 2 of B"), "{}", judged.numbers);
    }

    #[test]
    fn a_ratio_is_to_the_mean_of_the_runs_that_have_a_counterpart() {
        // Seed 3 of A has none, and would make B 1.5 / 2 of A.
        let sides = [[(1, 10.0), (2, 10.0), (3, 40.0)].into(), [(1, 15.0), (2, 15.0)].into()];
        let judged = parsed("train_max_packets > 9x").judge("x", &Values::new("x", sides, [0, 0], true), 0.05);
        assert!((judged.estimate.unwrap() - 1.5).abs() < 1e-12, "{judged:?}");
    }

    #[test]
    fn the_same_bytes_pass_what_compares_and_leave_plain_numbers_open() {
        let outcome = |text: &str| parsed(text).outcome_of_the_same("x").outcome;
        assert_eq!(outcome("train_max_packets > 1.05x"), ConditionOutcome::Passes);
        assert_eq!(outcome("train_max_packets > -1"), ConditionOutcome::Fails);
        assert_eq!(outcome("train_max_packets > 16"), ConditionOutcome::Undecided);
    }

    #[test]
    fn what_is_shown_of_a_ratio_is_what_decides() {
        let judged =
            parsed("train_max_packets > 1.05x").judge("x", &values(&[10.0, 10.0, 10.0], &[16.0, 15.0, 17.0]), 0.05);
        assert!((judged.estimate.unwrap() - 1.6).abs() < 1e-12);
        // Standard deviation 1, t of 2 degrees of freedom 4.3027: half the interval is 4.3027 / sqrt(3) / 10.
        let (low, high) = judged.interval.unwrap();
        assert!((low - (1.6 - 0.24841)).abs() < 1e-4 && (high - (1.6 + 0.24841)).abs() < 1e-4, "{low} {high}");
    }
}
