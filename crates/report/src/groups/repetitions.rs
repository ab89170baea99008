//! Repetitions, as the rule that repeats runs sees them.

use super::{group::Group, grouping};
use crate::input::ReportInput;

/// The repetitions of one setting, as the rule that repeats them sees them.
#[derive(Clone, Debug, PartialEq)]
pub struct Repetition {
    /// What runs of these settings share: [`group_key`](crate::group_key).
    pub key: String,
    /// Name of the settings.
    pub label: String,
    /// Values of the metric.
    pub values: Vec<f64>,
    /// The highest number of a repetition that has a record.
    pub last: u32,
}

/// The repetitions of every setting of a report, with the metric that decides.
pub fn repetitions(input: &ReportInput, metric: &str) -> Vec<Repetition> {
    let of_group = |group: &Group| Repetition {
        key: quiclab_experiment::settings_text(group.settings),
        label: group.label.clone(),
        values: group.values(metric),
        last: group.runs.iter().map(|run| run.run.repetition).max().unwrap_or(0),
    };
    grouping::all(input).iter().map(of_group).collect()
}
