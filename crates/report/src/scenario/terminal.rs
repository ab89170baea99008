//! The table of a scenario in the terminal.

use std::fmt::Write as _;

use super::{
    brief::{brief_cells, brief_headings},
    findings::scenario_findings,
    group::Group,
    report::ScenarioReport,
};
use crate::{
    findings::render_findings,
    terminal::table::{DEFAULT_WIDTH, table},
};

/// Number of rows that are shown at most; others are left to the page.
const MOST_ROWS: usize = 60;

/// Title, table, warnings, what came of expectations, and failures.
pub fn render_scenario_terminal(report: &ScenarioReport, width: Option<u16>) -> String {
    let groups = Group::all(report);
    let headings = brief_headings(&report.labels);
    let row = |group: &Group| {
        // Without spaces, so that no cell is broken in two.
        let cells = brief_cells(group).into_iter().map(|cell| cell.replace(' ', ""));
        [group.label.clone(), group.runs.len().to_string()].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = groups.iter().take(MOST_ROWS).map(row).collect();
    let headings = ["", "runs"].into_iter().chain(headings.iter().map(String::as_str));
    let mut text = format!("{}: {}\nMean \u{b1} standard deviation over the runs.\n", report.experiment, report.title);
    if !rows.is_empty() {
        let _ = writeln!(text, "{}", table(headings, &rows, width.unwrap_or(DEFAULT_WIDTH)));
    }
    if groups.len() > MOST_ROWS {
        let _ = writeln!(text, "and {} more rows; the page has all of them", groups.len() - MOST_ROWS);
    }
    if let Some(warning) = report.unfinished() {
        let _ = writeln!(text, "warning: {warning}");
    }
    text.push_str(&render_findings(&scenario_findings(report)));
    for failure in &report.failures {
        let _ = writeln!(text, "FAILED {}: {}", failure.folder, failure.message);
    }
    text
}
