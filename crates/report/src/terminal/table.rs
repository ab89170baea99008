//! A table of words and numbers in the terminal.

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, Table, Width,
    presets::{UTF8_BORDERS_ONLY, UTF8_FULL_CONDENSED},
};

/// Stands before a deviation.
const PLUS_MINUS: char = '\u{b1}';

/// Columns where standard output is no terminal.
pub(crate) const DEFAULT_WIDTH: u16 = 120;

/// A table of at most `width` columns, where that can be done without breaking a word or a number. Room is made in this order: headings
/// are broken between their words, columns move together, deviations stand below their means, names of rows are broken between words.
pub(crate) fn table<'a>(headings: impl Iterator<Item = &'a str>, rows: &[Vec<String>], width: u16) -> Table {
    let headings: Vec<_> = headings.collect();
    let columns = headings.len();
    // Both borders, and a space between columns.
    let needed = |widest: &[usize], padding: usize| widest.iter().sum::<usize>() + columns + 1 + padding;
    let fits = |widest: &[usize], padding: usize| needed(widest, padding) <= usize::from(width);
    // Spaces at both ends of a line.
    let ends = 2;
    let mut rows = rows.to_vec();
    let mut widest = widths(&headings, &rows);
    if !fits(&widest, ends) {
        rows.iter_mut().flatten().for_each(|cell| *cell = cell.replace(PLUS_MINUS, &format!("\n{PLUS_MINUS}")));
        widest = widths(&headings, &rows);
    }
    if !fits(&widest, ends) {
        let names = rows.iter().filter_map(|row| row.first());
        widest[0] = names.map(|name| longest(name, ' ')).max().unwrap_or(0);
    }
    let (left, right) = match () {
        () if fits(&widest, 2 * columns) => (1, 1),
        () if fits(&widest, columns + 1) => (0, 1),
        () => (0, 0),
    };
    let end = u16::from(fits(&widest, ends));
    let mut table = Table::new();
    table.load_preset(UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width).set_header(headings).add_rows(rows);
    for (number, column) in table.column_iter_mut().enumerate() {
        let left = if number == 0 { end } else { left };
        let right = if number + 1 == columns { end } else { right };
        column.set_padding((left, right));
        let least = widest[number] + usize::from(left + right);
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least as u16)));
        if number > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Characters that each column needs: a word of its heading, a line of a cell.
fn widths(headings: &[&str], rows: &[Vec<String>]) -> Vec<usize> {
    let cells = |column: usize| rows.iter().map(move |row| longest(&row[column], '\n'));
    let column = |(column, heading): (usize, &&str)| cells(column).chain([longest(heading, ' ')]).max().unwrap_or(0);
    headings.iter().enumerate().map(column).collect()
}

/// Characters of the longest part between separators.
pub(crate) fn longest(text: &str, separator: char) -> usize {
    text.split(separator).map(|part| part.chars().count()).max().unwrap_or(0)
}

/// Whether a framed table whose columns have cells of so many characters fits into `width`.
pub(crate) fn fits_framed(columns: impl Iterator<Item = usize>, width: u16) -> bool {
    // Each cell has a space at both sides and a line before it; the last line closes the table.
    columns.map(|cell| cell + 3).sum::<usize>() < usize::from(width)
}

/// The table with lines between its columns, at most so wide.
pub(crate) fn framed(mut table: Table, width: u16) -> Table {
    table.load_preset(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(width);
    table
}
