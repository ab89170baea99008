//! A table of words and numbers in the terminal.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};

/// Columns where standard output is no terminal.
pub(crate) const DEFAULT_WIDTH: u16 = 120;

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
