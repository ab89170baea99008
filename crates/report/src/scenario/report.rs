//! What the report of a scenario is made of.

use std::collections::BTreeMap;

use quiclab_experiment::{
    Expectation,
    scenario::{FigureSpec, Labels},
};

use crate::{input::FailureRow, interim_analyses::InterimAnalyses};

/// Everything the report of a scenario shows. Equal inputs give equal bytes.
#[derive(Clone, Debug)]
pub struct ScenarioReport {
    /// Name of the experiment, for example `tcp-pacing/fig03`.
    pub experiment: String,
    /// What it measures, in a line.
    pub title: String,
    /// Where the experiment comes from.
    pub source: Option<String>,
    /// The command that makes the runs again.
    pub command: String,
    /// The simulator that made them.
    pub simulator: String,
    /// The runs, in the order of the plan.
    pub runs: Vec<ScenarioRow>,
    /// What failed.
    pub failures: Vec<FailureRow>,
    /// The claims that must hold.
    pub expectations: Vec<Expectation>,
    /// When the results were evaluated, where runs were repeated until claims were decided; `None`: once.
    pub looks: Option<InterimAnalyses>,
    /// The pictures that the file asks for.
    pub figures: Vec<FigureSpec>,
    /// What settings, their values and groups of flows are called.
    pub labels: Labels,
}

impl ScenarioReport {
    /// What to know of runs that had too many events.
    pub(super) fn unfinished(&self) -> Option<String> {
        let count = self.runs.iter().filter(|run| !run.is_whole).count();
        (count > 0).then(|| {
            format!(
                "{count} of {} runs ended early because they reached scenario.events; their metrics cover the time until \
                 then",
                self.runs.len()
            )
        })
    }
}

/// One run.
#[derive(Clone, Debug)]
pub struct ScenarioRow {
    /// Name of its record.
    pub folder: String,
    /// The identity of the run.
    pub id: String,
    /// The number of the repetition, from 1.
    pub repetition: u32,
    /// The seed of the run.
    pub seed: u64,
    /// Every setting as text.
    pub settings: BTreeMap<String, String>,
    /// Whether all of its time was simulated.
    pub is_whole: bool,
    /// Events that were handled.
    pub events: u64,
    /// The metrics that could be measured.
    pub metrics: BTreeMap<String, f64>,
    /// What was seen at the end of each interval.
    pub series: BTreeMap<String, Vec<Option<f64>>>,
}
