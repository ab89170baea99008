//! Whether the expectations of an experiment hold.
//!
//! A claim is judged by an interval: that of the mean, or of the difference of two means. docs/reference/experiment-file.md says how.

mod finding;
mod found_losses;
mod judge;
mod losses;
mod markdown;
mod repeated;
mod text;

use quiclab_content::Lost;
use quiclab_experiment::run::is_sample;

use crate::{
    groups::{self, Group},
    input::{ReportInput, RunRow},
};

pub use finding::{Basis, Finding, Interval, Outcome, Side};
pub use found_losses::FoundLosses;
pub(crate) use judge::judge_all;
pub(crate) use losses::notes_on_losses;
pub use markdown::{FINDINGS_HEAD, findings_as_rows};
pub(crate) use repeated::Repeated;
pub use text::render_findings;

impl Repeated for Group<'_> {
    fn label(&self) -> &str {
        &self.label
    }

    fn repetitions(&self, metric: &str) -> Vec<(u32, f64)> {
        let value = |run: &&RunRow| Some((run.run.repetition, run.metrics.metrics.value(metric).flatten()?));
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
    let groups = groups::all(input);
    let settings: Vec<_> = groups.iter().map(|group| group.settings).collect();
    judge_all(&input.expectations, &groups, &settings, input.looks)
}
