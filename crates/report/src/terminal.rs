//! The table in the terminal.

pub(crate) mod paragraph;
pub(crate) mod table;

use std::fmt::Write as _;

use crate::{
    columns::{Column, brief_columns},
    findings::{findings, render_findings},
    groups::{self, is_captured, published_alone},
    input::ReportInput,
    notes::notes,
    results_table::{ResultsRow, ResultsTable, RowOf},
    terminal::{
        paragraph::paragraphs,
        table::{DEFAULT_WIDTH, table},
    },
    warning_groups::{of_runs, warning_groups},
};

/// Title, table, warnings, what came of expectations, and failures; lines are at most `width` columns wide where the words allow it.
pub fn render_terminal(input: &ReportInput, width: Option<u16>) -> String {
    let groups = groups::all(input);
    // Without captures most have nothing.
    let is_captured = is_captured(&groups);
    let has_values = |column: &Column| groups.iter().any(|group| group.summary(column).is_some());
    let columns = brief_columns(&input.asked(), has_values);
    let columns = columns.into_iter().filter(|column| is_captured || has_values(column));
    let alone = published_alone(input, &groups);
    let results = ResultsTable::of(&groups, &alone, columns);
    let client = results.tells_clients.then_some("client");
    let headings = [""].into_iter().chain(client).chain(["runs"]).chain(results.headings());
    let rows: Vec<_> = results.rows.iter().map(|row| cells(row, results.tells_clients)).collect();
    let table = table(headings, &rows, width.unwrap_or(DEFAULT_WIDTH));
    let head = format!("{}: {}\nMean \u{b1} standard deviation over the runs.\n", input.experiment, input.title);
    let mut text = String::new();
    for line in results.rows.iter().filter_map(|row| row.of.source_line("published")) {
        let _ = writeln!(text, "{line}");
    }
    for note in notes(&groups) {
        let _ = writeln!(text, "note: {note}");
    }
    for group in &groups {
        if let Some(mixed) = group.mixed_versions() {
            let _ = writeln!(text, "warning, {}: {mixed}", group.label);
        }
    }
    for warning_groups in warning_groups(&groups) {
        let (rows, others) = if warning_groups.is_common() {
            let have = format!("{} of {} rows have {}", warning_groups.rows.len(), groups.len(), warning_groups.code);
            (&warning_groups.rows[..1], format!(" ({have}; the page has all of them)"))
        } else {
            (&warning_groups.rows[..], String::new())
        };
        for (group, warning) in rows {
            let _ = writeln!(text, "warning, {}{}: {}{others}", group.label, of_runs(group, warning), warning.message);
        }
    }
    text.push_str(&render_findings(&findings(input)));
    for failure in &input.failures {
        let _ = writeln!(text, "FAILED {}: {}", failure.folder, failure.message);
    }
    format!("{}{table}\n{}", paragraphs(&head, width), paragraphs(&text, width))
}

/// The cells of a row, without spaces in the numbers, so that no cell is broken in two.
fn cells(row: &ResultsRow, tells_clients: bool) -> Vec<String> {
    let (name, client, runs) = match row.of {
        RowOf::Runs(group) => (row.of.name(), group.settings.stack.client.clone(), group.runs.len().to_string()),
        RowOf::Published(..) => (format!("\u{2514} {}", row.of.name()), String::new(), String::new()),
        RowOf::Alone(_) => (row.of.name(), String::new(), String::new()),
    };
    let numbers = row.cells.iter().map(|cell| cell.replace(' ', ""));
    [name].into_iter().chain(tells_clients.then_some(client)).chain([runs]).chain(numbers).collect()
}
