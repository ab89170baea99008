//! Senders beside each other in the terminal: a column for each, a line for each metric.

use comfy_table::{Cell, CellAlignment, Table};
use quiclab_metrics::RunMetrics;

use crate::columns::{Column, NOTHING};
use crate::terminal::table::{fits_framed, framed};

/// A table before it is known how its columns are headed.
pub(super) struct SideBySide<'a> {
    name: &'a str,
    /// The number of each sender in the list of all, and the lines of its title.
    senders: Vec<(usize, Vec<String>)>,
    /// The metric's name and its value for each sender.
    rows: Vec<(&'static str, Vec<Option<String>>)>,
}

impl<'a> SideBySide<'a> {
    /// A line for each of these metrics that has a value. `senders`: number, title and measurements of each.
    pub(super) fn new<'b>(
        name: &'a str,
        senders: impl Iterator<Item = (usize, Vec<String>, &'b RunMetrics)>,
        columns: impl Iterator<Item = &'static Column>,
        value: &dyn Fn(&Column, &RunMetrics) -> Option<String>,
    ) -> Self {
        let (senders, runs): (Vec<_>, Vec<_>) = senders.map(|(number, title, run)| ((number, title), run)).unzip();
        let rows = columns
            .map(|column| (column.heading, runs.iter().map(|run| value(column, run)).collect::<Vec<_>>()))
            .filter(|(_, values)| values.iter().any(Option::is_some));
        Self { name, senders, rows: rows.collect() }
    }

    /// Whether the titles fit into so many columns without a broken word.
    pub(super) fn fits(&self, width: u16) -> bool {
        let characters = |text: &str| text.chars().count();
        let names = self.rows.iter().map(|(heading, _)| characters(heading));
        let titles = self.senders.iter().enumerate().map(|(place, (_, title))| {
            let values = self.rows.iter().filter_map(|(_, values)| values[place].as_deref());
            values.chain(title.iter().map(String::as_str)).map(characters).max().unwrap_or(0)
        });
        fits_framed(names.max().into_iter().chain(titles), width)
    }

    /// The table, headed by titles, or by numbers where a list above has the titles.
    pub(super) fn table(self, is_numbered: bool, width: u16) -> Table {
        let mut table = Table::new();
        let heading = |(number, title): (usize, Vec<String>)| match is_numbered {
            true => number.to_string(),
            false => title.join("\n"),
        };
        let headings = self.senders.into_iter().map(heading);
        table.set_header(std::iter::once(self.name.to_owned()).chain(headings));
        for (heading, values) in self.rows {
            table.add_row(std::iter::once(Cell::new(heading)).chain(values.into_iter().map(number)));
        }
        framed(table, width)
    }
}

/// A number, or that there is none.
pub(super) fn number(value: Option<String>) -> Cell {
    Cell::new(value.unwrap_or_else(|| NOTHING.to_owned())).set_alignment(CellAlignment::Right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side_by_side(titles: usize) -> SideBySide<'static> {
        let title = || vec!["quic, from server".to_owned(), "193.167.100.100:443".to_owned()];
        let senders = (1..=titles).map(|number| (number, title())).collect();
        SideBySide { name: "", senders, rows: vec![("packets sent", vec![Some("1038".to_owned()); titles])] }
    }

    #[test]
    fn titles_that_do_not_fit_are_numbers() {
        for (titles, fits) in [(1, true), (2, true), (3, false)] {
            assert_eq!(side_by_side(titles).fits(80), fits, "{titles}");
            let text = side_by_side(titles).table(!fits, 80).to_string();
            assert_eq!(text.contains("193.167.100.100:443"), fits, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80) && text.contains("packets sent"), "{text}");
        }
    }
}
