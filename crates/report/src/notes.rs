//! What changes the numbers of a report and is no fault: it stands beside them.

use std::collections::BTreeSet;

use crate::{groups::Group, input::RunRow, path_summary::PathSummary};

/// Note on runs whose endpoints wrote qlog.
pub(crate) const QLOG_NOTE: &str = "The endpoints wrote qlog (tap.qlog = true). That takes time and changes what they \
                                    send: compare these numbers only with runs that also wrote qlog.";

/// Sentences for the reader.
pub(crate) fn notes(groups: &[Group]) -> Vec<String> {
    let is_simulated = |run: &&RunRow| run.path.as_ref().is_some_and(PathSummary::is_simulated);
    let is_changed = |group: &&Group| group.settings.tap.qlog && !group.runs.iter().all(is_simulated);
    let with_qlog: Vec<_> = groups.iter().filter(is_changed).collect();
    if with_qlog.is_empty() {
        return Vec::new();
    }
    if with_qlog.len() == groups.len() {
        return vec![QLOG_NOTE.to_owned()];
    }
    let labels: Vec<_> = with_qlog.iter().map(|group| group.label.as_str()).collect();
    vec![format!(
        "In {} of {} rows the endpoints wrote qlog (tap.qlog = true), which takes time and changes what they send; do \
         not compare these rows with the others: {}",
        with_qlog.len(),
        groups.len(),
        labels.join("; ")
    )]
}

/// Whether each row must say whose client it was: it is not always the same one, or not always the server's own.
pub(crate) fn tells_clients(groups: &[Group]) -> bool {
    let clients: BTreeSet<_> = groups.iter().map(|group| &group.settings.stack.client).collect();
    clients.len() > 1 || groups.iter().any(|group| group.settings.stack.client != group.settings.stack.server)
}
