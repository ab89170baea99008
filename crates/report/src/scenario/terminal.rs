//! The table of a scenario in the terminal.

use std::fmt::Write as _;

use super::{findings::scenario_findings, group::Group, metric::heading, report::ScenarioReport};
use crate::{
    findings::render_findings,
    terminal::{DEFAULT_WIDTH, table},
};

/// Metrics of the brief table; all stand on the page.
pub(super) const BRIEF: [&str; 6] =
    ["utilisation", "drops_packets", "queue_mean_packets", "fairness", "fairness_by_rtt", "first_loss_s"];
/// Number of rows that are shown at most; others are left to the page.
const MOST_ROWS: usize = 60;

/// Title, table, warnings, what came of expectations, and failures.
pub fn render_scenario_terminal(report: &ScenarioReport, width: Option<u16>) -> String {
    let groups = Group::all(report);
    let rows: Vec<Vec<String>> = groups
        .iter()
        .take(MOST_ROWS)
        .map(|group| {
            // Without spaces, so that no cell is broken in two.
            let cells = BRIEF.iter().map(|metric| group.cell(metric).replace(' ', ""));
            [group.label.clone(), group.runs.len().to_string()].into_iter().chain(cells).collect()
        })
        .collect();
    let headings: Vec<String> = BRIEF.iter().map(|metric| heading(metric, &report.labels)).collect();
    let headings = ["", "runs"].into_iter().chain(headings.iter().map(String::as_str));
    let mut text = format!("{}: {}\nMean \u{b1} standard deviation over the runs.\n", report.experiment, report.title);
    if !rows.is_empty() {
        let _ = writeln!(text, "{}", table(headings, &rows, width.unwrap_or(DEFAULT_WIDTH)));
    }
    if groups.len() > MOST_ROWS {
        let _ = writeln!(text, "and {} more rows; the page has all of them", groups.len() - MOST_ROWS);
    }
    if let Some(warning) = unfinished(report) {
        let _ = writeln!(text, "warning: {warning}");
    }
    text.push_str(&render_findings(&scenario_findings(report)));
    for failure in &report.failures {
        let _ = writeln!(text, "FAILED {}: {}", failure.folder, failure.message);
    }
    text
}

/// What to know of runs that had too many events.
pub(super) fn unfinished(report: &ScenarioReport) -> Option<String> {
    let count = report.runs.iter().filter(|run| !run.is_whole).count();
    (count > 0).then(|| {
        format!(
            "{count} of {} runs ended early because they reached scenario.events; their metrics cover the time until \
             then",
            report.runs.len()
        )
    })
}
