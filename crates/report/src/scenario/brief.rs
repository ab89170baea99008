//! The short table of a scenario, which the terminal and Markdown show each in its own form.

use quiclab_experiment::scenario::Labels;

use super::{group::Group, metric::heading};

/// Metrics of the brief table; all stand on the page.
const BRIEF: [&str; 6] =
    ["utilisation", "drops_packets", "queue_mean_packets", "fairness", "fairness_by_rtt", "first_loss_s"];

/// What stands above the columns.
pub(super) fn brief_headings(labels: &Labels) -> Vec<String> {
    BRIEF.iter().map(|metric| heading(metric, labels)).collect()
}

/// The cells of a group.
pub(super) fn brief_cells(group: &Group) -> Vec<String> {
    BRIEF.iter().map(|metric| group.cell(metric)).collect()
}
