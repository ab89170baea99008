//! The table of a scenario as Markdown.

use std::fmt::Write as _;

use super::{
    group::Group,
    metric::heading,
    report::ScenarioReport,
    terminal::{BRIEF, unfinished},
};
use crate::markdown::text::escaped;

/// The table of the terminal, with every row; warnings and failures.
pub fn render_scenario_markdown(report: &ScenarioReport) -> String {
    let groups = Group::all(report);
    let headings: Vec<_> = BRIEF.iter().map(|metric| heading(metric, &report.labels)).collect();
    let mut text = format!("| {} | runs | {} |\n", escaped(&report.experiment), headings.join(" | "));
    let _ = writeln!(text, "|---|--:|{}", "--:|".repeat(BRIEF.len()));
    for group in &groups {
        let cells: Vec<_> = BRIEF.iter().map(|metric| group.cell(metric)).collect();
        let _ = writeln!(text, "| {} | {} | {} |", escaped(&group.label), group.runs.len(), cells.join(" | "));
    }
    text.push_str("\nMean \u{b1} standard deviation over the runs.\n");
    if let Some(warning) = unfinished(report) {
        let _ = writeln!(text, "\nWarning: {}", escaped(&warning));
    }
    for failure in &report.failures {
        let message = failure.message.replace('\n', " ");
        let _ = writeln!(text, "\nFailed: {}: {}", escaped(&failure.folder), escaped(&message));
    }
    text
}
