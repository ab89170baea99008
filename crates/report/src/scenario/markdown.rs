//! The table of a scenario as Markdown.

use std::fmt::Write as _;

use super::{
    brief::{brief_cells, brief_headings},
    group::Group,
    report::ScenarioReport,
};
use crate::markdown::text::escaped;

/// The table of the terminal, with every row; warnings and failures.
pub fn render_scenario_markdown(report: &ScenarioReport) -> String {
    let groups = Group::all(report);
    let headings = brief_headings(&report.labels);
    let mut text = format!("| {} | runs | {} |\n", escaped(&report.experiment), headings.join(" | "));
    let _ = writeln!(text, "|---|--:|{}", "--:|".repeat(headings.len()));
    for group in &groups {
        let cells = brief_cells(group).join(" | ");
        let _ = writeln!(text, "| {} | {} | {cells} |", escaped(&group.label), group.runs.len());
    }
    text.push_str("\nMean \u{b1} standard deviation over the runs.\n");
    if let Some(warning) = report.unfinished() {
        let _ = writeln!(text, "\nWarning: {}", escaped(&warning));
    }
    for failure in &report.failures {
        let message = failure.message.replace('\n', " ");
        let _ = writeln!(text, "\nFailed: {}: {}", escaped(&failure.folder), escaped(&message));
    }
    text
}
