//! One metric on both sides.

use std::collections::BTreeMap;

use quiclab_metrics::{Better, Estimate, Summary, Theme, find_metric};
use serde::Serialize;

use super::words;
use crate::{
    columns::{COLUMNS, Column},
    groups::Group,
    input::RunRow,
};

/// Power of an interval and a p-value: the share of differences that have to be found.
const POWER: f64 = 0.8;

/// The values of a metric on both sides, by seed.
#[derive(Clone, Debug)]
pub(super) struct Values {
    resolution: f64,
    sides: [BTreeMap<u64, f64>; 2],
    /// Runs without a value, and why the analysis withheld it: each reason once.
    without_value: [usize; 2],
    withheld: [Vec<String>; 2],
    is_paired: bool,
    /// Whether nothing that was measured differs between the sides.
    is_identical: bool,
}

/// A metric on one side.
#[derive(Clone, Debug, Serialize)]
pub struct SideNumbers {
    /// Runs that have a value.
    pub count: usize,
    /// Mean of the runs, in the unit of the metric.
    pub mean: f64,
    /// Standard deviation of the runs; `None` of a single run.
    pub standard_deviation: Option<f64>,
    /// Median of the runs.
    pub median: f64,
    /// Smallest value.
    pub minimum: f64,
    /// Largest value.
    pub maximum: f64,
    /// Seed and value of each run.
    pub values: Vec<(u64, f64)>,
}

/// Numbers of the difference, B less A.
#[derive(Clone, Debug, Serialize)]
pub struct DifferenceNumbers {
    /// The mean difference, in the unit of the metric.
    pub mean: f64,
    /// The means of A and of B that it is the difference of: of the pairs where there are any, otherwise of all runs.
    pub means: [f64; 2],
    /// Confidence interval of the difference, for this metric by itself; `None` where nothing was repeated.
    pub interval: Option<(f64, f64)>,
    /// The mean difference as a share of the mean of A in `means`; `None` where that is 0.
    pub relative: Option<f64>,
    /// The p-value of "no difference", for this metric by itself; `None` where nothing was repeated.
    pub p: Option<f64>,
    /// The p-value `p`, corrected for the number of metrics.
    pub p_corrected: Option<f64>,
    /// The smallest true difference that would have been shown in four comparisons of five.
    pub smallest_detectable: Option<f64>,
    /// `smallest_detectable` as a share of the mean of A in `means`.
    pub smallest_detectable_relative: Option<f64>,
    /// Pearson's correlation of the pairs: what pairing gained. `None` without pairs, or where a side does not vary.
    pub correlation: Option<f64>,
    /// True where every pair has two equal values.
    pub is_same: bool,
}

/// What became of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A difference is shown, in the direction that is better.
    Better,
    /// A difference is shown, in the direction that is worse.
    Worse,
    /// A difference is shown: more, of a metric that has no better direction.
    Higher,
    /// A difference is shown: less, of a metric that has no better direction.
    Lower,
    /// A difference is shown, and is too small to matter.
    Small,
    /// The metric is equal in every pair.
    Same,
    /// No difference is shown.
    NoneShown,
    /// Nothing was repeated, so nothing is known of chance.
    Unknown,
    /// The metric has no value on one side or on both.
    NotMeasured,
}

/// A metric of two sides.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name of the metric.
    pub metric: &'static str,
    /// The metric in words, with the unit in which tables show it.
    pub heading: &'static str,
    /// Whether the verdict is about it.
    pub is_primary: bool,
    /// A.
    pub a: Option<SideNumbers>,
    /// B.
    pub b: Option<SideNumbers>,
    /// B less A; `None` where a side has no value.
    pub difference: Option<DifferenceNumbers>,
    /// What became of it.
    pub change: Change,
    /// Runs without a value on each side.
    pub without_value: [usize; 2],
    /// Why the analysis withheld it, of A and of B: each reason once.
    pub withheld: [Vec<String>; 2],
    #[serde(skip)]
    pub(super) theme: Theme,
    #[serde(skip)]
    pub(super) column: &'static Column,
    #[serde(skip)]
    estimate: Option<Estimate>,
    #[serde(skip)]
    better: Better,
}

impl Values {
    pub(super) fn new(
        metric: &str,
        sides: [BTreeMap<u64, f64>; 2],
        without_value: [usize; 2],
        is_paired: bool,
    ) -> Self {
        let resolution = find_metric(metric).map_or(0.0, |facts| facts.resolution);
        Self { without_value, ..Self::in_steps_of(resolution, sides, is_paired) }
    }

    /// Values of something that is no metric; `resolution` is the smallest step that they can take.
    pub(super) fn in_steps_of(resolution: f64, sides: [BTreeMap<u64, f64>; 2], is_paired: bool) -> Self {
        let (without_value, withheld) = Default::default();
        Self { resolution, sides, without_value, withheld, is_paired, is_identical: false }
    }

    pub(super) fn of(groups: [&Group; 2], metric: &str, is_paired: bool) -> Self {
        let column = COLUMNS.iter().find(|column| column.metric == metric);
        let value = |run: &RunRow| (column?.value)(&run.metrics.metrics);
        let sides = groups.map(|group| {
            let seeded = |run: &&RunRow| Some((run.run.seed, value(run)?));
            group.runs.iter().filter_map(seeded).collect()
        });
        let is_identical = is_paired && are_identical(groups);
        let without_value = groups.map(|group| group.runs.iter().filter(|run| value(run).is_none()).count());
        let withheld = groups.map(|group| reasons(group, metric));
        Self { withheld, is_identical, ..Self::new(metric, sides, without_value, is_paired) }
    }

    /// Why the sides cannot be compared as a whole: some runs have no value. Those that have one may be the better ones.
    pub(super) fn missing(&self) -> Option<String> {
        let counts = [0, 1].map(|side| self.sides[side].len());
        if counts.contains(&0) && self.without_value == [0, 0] {
            return Some("no value on either side".to_owned());
        }
        words::missing(counts, self.without_value, &self.withheld)
    }

    /// The means that are compared, of A and of B: of the pairs where there are any, since a run without a counterpart says nothing about
    /// the difference. 0 for a side without values.
    pub(super) fn means(&self) -> [f64; 2] {
        let pairs = if self.is_paired { self.pairs() } else { Vec::new() };
        let mean = |values: &mut dyn Iterator<Item = f64>| Summary::of(values).map_or(0.0, |summary| summary.mean);
        match &pairs[..] {
            [] => [0, 1].map(|side| mean(&mut self.sides[side].values().copied())),
            pairs => [mean(&mut pairs.iter().map(|pair| pair.0)), mean(&mut pairs.iter().map(|pair| pair.1))],
        }
    }

    /// B less so many times A.
    pub(super) fn difference(&self, factor: f64) -> Option<Estimate> {
        if self.is_paired {
            // What is the same to the last nanosecond is not the same by rounding.
            let resolution = if self.is_identical { 0.0 } else { self.resolution };
            return Estimate::paired(&self.pairs(), factor, resolution);
        }
        let [one, other] = [0, 1].map(|side| self.sides[side].values().copied().collect::<Vec<_>>());
        Estimate::unpaired(&one, &other, factor, self.resolution)
    }

    /// B by itself.
    pub(super) fn of_other(&self) -> Option<Estimate> {
        let values: Vec<_> = self.sides[1].values().copied().collect();
        Estimate::of_mean(&values, self.resolution.powi(2) / 12.0)
    }

    fn summary(&self, side: usize) -> Option<Summary> {
        Summary::of(self.sides[side].values().copied())
    }

    fn pairs(&self) -> Vec<(f64, f64)> {
        let [one, other] = &self.sides;
        one.iter().filter_map(|(seed, value)| Some((*value, *other.get(seed)?))).collect()
    }

    fn side(&self, side: usize) -> Option<SideNumbers> {
        let Summary { count, mean, standard_deviation, median, minimum, maximum } = self.summary(side)?;
        let values = self.sides[side].iter().map(|(seed, value)| (*seed, *value)).collect();
        Some(SideNumbers { count, mean, standard_deviation, median, minimum, maximum, values })
    }
}

impl Row {
    /// The metric of `column`, not yet corrected for the number of metrics.
    pub(super) fn of(column: &'static Column, values: &Values, is_primary: bool, alpha: f64) -> Self {
        let facts = find_metric(column.metric);
        let [a, b] = [values.side(0), values.side(1)];
        let estimate = values.difference(1.0);
        let difference = a.as_ref().zip(b.as_ref()).map(|_| {
            let pairs = if values.is_paired { values.pairs() } else { Vec::new() };
            let means = values.means();
            let mean = estimate.map_or(means[1] - means[0], |estimate| estimate.mean);
            DifferenceNumbers {
                mean,
                means,
                interval: estimate.map(|estimate| estimate.interval(alpha)),
                relative: (means[0] != 0.0).then(|| mean / means[0]),
                p: estimate.map(|estimate| estimate.p()),
                p_corrected: None,
                smallest_detectable: None,
                smallest_detectable_relative: None,
                correlation: correlation(&pairs),
                is_same: !pairs.is_empty() && pairs.iter().all(|(one, other)| one == other),
            }
        });
        Self {
            metric: column.metric,
            heading: column.heading.trim_start_matches('\u{a0}'),
            is_primary,
            without_value: values.without_value,
            withheld: values.withheld.clone(),
            change: if difference.is_some() { Change::Unknown } else { Change::NotMeasured },
            a,
            b,
            difference,
            theme: facts.map_or(Theme::Other, |facts| facts.theme),
            column,
            estimate,
            better: facts.map_or(Better::Neither, |facts| facts.better),
        }
    }

    /// The p-value for this metric by itself.
    pub(super) fn p(&self) -> Option<f64> {
        self.difference.as_ref()?.p
    }

    /// Decides what became of the metric, one of `family` metrics.
    pub(super) fn decide(&mut self, p_corrected: f64, family: usize, alpha: f64) {
        let (Some(difference), Some(estimate)) = (&mut self.difference, self.estimate) else { return };
        difference.p_corrected = Some(p_corrected);
        // What the strictest step of the correction lets through.
        let smallest = estimate.smallest_detectable(alpha / family as f64, POWER);
        let mean = difference.means[0];
        difference.smallest_detectable = Some(smallest);
        difference.smallest_detectable_relative = (mean != 0.0).then(|| smallest / mean.abs());
        self.change = if difference.is_same {
            Change::Same
        } else if p_corrected > alpha {
            Change::NoneShown
        } else if !find_metric(self.metric).is_none_or(|facts| facts.matters(mean, mean + difference.mean)) {
            Change::Small
        } else {
            match (self.better, difference.mean > 0.0) {
                (Better::Neither, true) => Change::Higher,
                (Better::Neither, false) => Change::Lower,
                (Better::Higher, true) | (Better::Lower, false) => Change::Better,
                _ => Change::Worse,
            }
        };
    }
}

impl Change {
    /// A difference that is shown.
    pub fn is_shown(self) -> bool {
        matches!(self, Change::Better | Change::Worse | Change::Higher | Change::Lower)
    }

    /// The change in words, for people.
    pub fn word(self) -> &'static str {
        match self {
            Change::Better => "better",
            Change::Worse => "worse",
            Change::Higher => "higher",
            Change::Lower => "lower",
            Change::Small => "too small to matter",
            Change::Same => "the same in every run",
            Change::NoneShown => "no difference shown",
            Change::Unknown => "too few runs with a value",
            Change::NotMeasured => "not measured",
        }
    }
}

/// True where every run has a counterpart with the same seed, and nothing that was measured differs between the two: every metric, and the
/// distributions of gaps (to the nanosecond), trains and bursts.
fn are_identical(groups: [&Group; 2]) -> bool {
    let has_twin = |run: &&RunRow, others: &Group| {
        others.runs.iter().any(|other| other.run.seed == run.run.seed && other.metrics == run.metrics)
    };
    [(0, 1), (1, 0)].into_iter().all(|(one, other)| groups[one].runs.iter().all(|run| has_twin(run, groups[other])))
}

/// Why the analysis withheld a metric of these runs: each reason once.
fn reasons(group: &Group, metric: &str) -> Vec<String> {
    let withheld = group.runs.iter().flat_map(|run| &run.metrics.withheld);
    let mut reasons = Vec::new();
    for withheld in withheld.filter(|withheld| withheld.metrics.iter().any(|name| name == metric)) {
        if !reasons.contains(&withheld.reason) {
            reasons.push(withheld.reason.clone());
        }
    }
    reasons
}

fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let count = pairs.len() as f64;
    let mean = |side: fn(&(f64, f64)) -> f64| pairs.iter().map(side).sum::<f64>() / count;
    let [one, other] = [mean(|pair| pair.0), mean(|pair| pair.1)];
    let sum =
        |product: fn(f64, f64) -> f64| pairs.iter().map(|pair| product(pair.0 - one, pair.1 - other)).sum::<f64>();
    let scale = (sum(|one, _| one * one) * sum(|_, other| other * other)).sqrt();
    (pairs.len() > 1 && scale > 0.0).then(|| sum(|one, other| one * other) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_is_one_on_a_line_and_unknown_without_spread() {
        assert_eq!(correlation(&[(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)]), Some(1.0));
        assert_eq!(correlation(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]), Some(-1.0));
        assert_eq!(correlation(&[(1.0, 3.0), (1.0, 2.0)]), None);
        assert_eq!(correlation(&[]), None);
    }
}
