//! The table in the terminal.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};

use crate::{
    columns::{COLUMNS, Column, Place},
    findings::{findings, render_findings},
    groups::{self, is_captured, name_alone, published_alone},
    input::ReportInput,
    notes::{notes, tells_clients},
    warning_groups::{of_runs, warning_groups},
};

/// Title, table, warnings, what came of expectations, and failures; lines are at most `width` columns wide where the words allow it.
pub fn render_terminal(input: &ReportInput, width: Option<u16>) -> String {
    let groups = groups::all(input);
    let tells_clients = tells_clients(&groups);
    // Without captures most have nothing.
    let is_captured = is_captured(&groups);
    let is_shown = |column: &&Column| is_captured || groups.iter().any(|group| group.summary(column).is_some());
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| column.place == Place::Brief).filter(is_shown).collect();
    let beside = |name: String| [name].into_iter().chain(vec![String::new(); 1 + usize::from(tells_clients)]);
    let mut rows = Vec::new();
    for group in &groups {
        // Without spaces, so that no cell is broken in two.
        let cells = columns.iter().map(|column| column.cell(group.summary(column).as_ref()).replace(' ', ""));
        let client = tells_clients.then(|| group.settings.stack.client.clone());
        let first = [group.label.clone()].into_iter().chain(client).chain([group.runs.len().to_string()]);
        rows.push(first.chain(cells).collect::<Vec<_>>());
        if group.published.is_some() {
            let cells = columns.iter().map(|column| column.published(group.published(column)));
            rows.push(beside("\u{2514} published".to_owned()).chain(cells).collect());
        }
    }
    let alone = published_alone(input, &groups);
    for row in &alone {
        let cells = columns.iter().map(|column| column.published(row.values.get(column.metric).copied()));
        rows.push(beside(name_alone(row)).chain(cells).collect());
    }
    let client = tells_clients.then_some("client");
    let headings = [""].into_iter().chain(client).chain(["runs"]).chain(columns.iter().map(|column| column.heading));
    let table = table(headings, &rows, width.unwrap_or(DEFAULT_WIDTH));
    let mut text =
        format!("{}: {}\nMean \u{b1} standard deviation over the runs.\n{table}\n", input.experiment, input.title);
    for group in &groups {
        if let Some(source) = group.published.and_then(|row| row.source.as_ref()) {
            let _ = writeln!(text, "published, {}: {source}", group.label);
        }
    }
    for row in &alone {
        if let Some(source) = &row.source {
            let _ = writeln!(text, "{}: {source}", name_alone(row));
        }
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
    text
}

/// Headings may be broken into lines, cells may not.
pub(crate) fn table<'a>(headings: impl Iterator<Item = &'a str>, rows: &[Vec<String>], width: u16) -> Table {
    /// Spaces beside each cell.
    const PADDING: usize = 2;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    let headings: Vec<_> = headings.collect();
    // A heading is broken between its words and not within one.
    let words = headings.iter().map(|heading| heading.split(' ').map(|word| word.chars().count()).max());
    let words: Vec<_> = words.map(Option::unwrap_or_default).collect();
    table.set_width(width).set_header(headings).add_rows(rows);
    for (number, column) in table.column_iter_mut().enumerate() {
        let cells = rows.iter().map(|row| row[number].chars().count());
        let widest = cells.chain([words[number]]).max().unwrap_or(0) + PADDING;
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(widest as u16)));
        if number > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Columns where standard output is no terminal.
pub(crate) const DEFAULT_WIDTH: u16 = 120;
