//! What came of an expectation.

use quiclab_experiment::{Bound, Compared, Expectation};
use serde::Serialize;

use super::{found_losses::FoundLosses, repeated::Repeated};
use crate::quantity::Shown;

/// One expectation about one group of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What is expected, in words.
    pub claim: String,
    /// Where the claim comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The metric by which the claim is judged.
    pub metric: String,
    /// The runs that the claim is about; `None` where there are none.
    pub of: Option<Side>,
    /// The side of the number on which the mean must be.
    pub bound: Bound,
    /// Number that the mean is held against, in the unit of the metric, or a factor of `with`.
    pub number: f64,
    /// How `number` compares `of` with `with`: as a factor, or as the difference of the two.
    #[serde(skip_serializing_if = "is_ratio")]
    pub compared_as: Compared,
    /// The runs that `of` is compared with; `None` for a plain number.
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
    /// The groups of runs in the finding, by their places in the report.
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
    /// Standard deviation of the metric; `None` of a single run.
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

/// A finding without numbers, and why there are none.
pub(super) fn unmeasured<G: Repeated>(expectation: &Expectation, of: Option<&G>, why: &str) -> Finding {
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

fn is_ratio(compared: &Compared) -> bool {
    *compared == Compared::Ratio
}
