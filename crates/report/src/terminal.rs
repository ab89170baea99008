//! The table in the terminal.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

use crate::{
    columns::{COLUMNS, Column},
    groups::Group,
    input::ReportInput,
};

/// Title, table, warnings and failures; lines are at most `width` columns wide where the words allow it.
pub fn render_terminal(input: &ReportInput, width: Option<u16>) -> String {
    let groups = Group::all(input);
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| column.brief).collect();
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    // Without a terminal the headings are wrapped all the same, or the table would be too wide to read.
    table.set_width(width.unwrap_or(DEFAULT_WIDTH));
    table.set_header(["", "runs"].into_iter().chain(columns.iter().map(|column| column.heading)));
    for group in &groups {
        // Without spaces, so that no cell is broken in two.
        let cells = columns.iter().map(|column| column.cell(group.summary(column).as_ref()).replace(' ', ""));
        table.add_row([group.label.clone(), group.runs.len().to_string()].into_iter().chain(cells));
        if group.published.is_some() {
            let cells = columns.iter().map(|column| column.published(group.published(column)));
            table.add_row(["\u{2514} published".to_owned(), String::new()].into_iter().chain(cells));
        }
    }
    if let Some(labels) = table.column_mut(0) {
        labels.set_constraint(ColumnConstraint::ContentWidth);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text =
        format!("{}: {}\nMean \u{b1} standard deviation over the runs.\n{table}\n", input.experiment, input.title);
    for group in &groups {
        if let Some(source) = group.published.and_then(|row| row.source.as_ref()) {
            let _ = writeln!(text, "published, {}: {source}", group.label);
        }
    }
    for group in &groups {
        for warning in group.warnings() {
            let of = if group.runs.len() > 1 {
                format!(" ({} of {} runs)", warning.runs, group.runs.len())
            } else {
                String::new()
            };
            let _ = writeln!(text, "warning, {}{of}: {}", group.label, warning.message);
        }
    }
    for failure in &input.failures {
        let _ = writeln!(text, "FAILED {}: {}", failure.folder, failure.message);
    }
    text
}

/// Columns where standard output is no terminal.
const DEFAULT_WIDTH: u16 = 120;
