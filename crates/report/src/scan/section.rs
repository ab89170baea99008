//! What a part of the report holds, for a page as well as for Markdown.

use std::collections::BTreeMap;

use crate::plot::Figure;

/// A part of the report.
pub(super) struct Section {
    pub title: String,
    /// What it shows, of how many rows, and what the study says.
    pub paragraphs: Vec<String>,
    pub tables: Vec<Table>,
    pub figures: Vec<Figure>,
}

impl Section {
    /// A section with nothing but a sentence that says why.
    pub fn absent(title: String, why: String) -> Self {
        Section { title, paragraphs: vec![why], tables: Vec::new(), figures: Vec::new() }
    }
}

/// A table whose first column has names.
pub(super) struct Table {
    pub headings: Vec<&'static str>,
    pub lines: Vec<Line>,
}

/// A line of a table.
pub(super) struct Line {
    pub name: String,
    /// One for each heading but the first.
    pub cells: Vec<String>,
    /// Whether these are values of the study.
    pub is_published: bool,
}

impl Line {
    pub fn own(name: impl Into<String>, cells: Vec<String>) -> Self {
        Line { name: name.into(), cells, is_published: false }
    }

    pub fn published(name: impl Into<String>, cells: Vec<String>) -> Self {
        Line { name: name.into(), cells, is_published: true }
    }
}

/// How many rows something is of, and why others are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Count {
    used: u64,
    left_out: BTreeMap<&'static str, u64>,
}

impl Count {
    /// Counts what a row gives, or why it gives nothing.
    pub fn take<T>(&mut self, found: Result<T, &'static str>) -> Option<T> {
        match found {
            Ok(value) => {
                self.used += 1;
                Some(value)
            }
            Err(why) => {
                *self.left_out.entry(why).or_default() += 1;
                None
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The numbers in words.
    pub fn sentence(&self) -> String {
        let all: u64 = self.used + self.left_out.values().sum::<u64>();
        if self.left_out.is_empty() {
            return format!("Rows: all {all}.");
        }
        let reasons: Vec<_> = self.left_out.iter().map(|(why, count)| format!("{count} {why}")).collect();
        format!("Rows: {} of {all}. Left out: {}.", self.used, reasons.join("; "))
    }

    /// Why there is nothing to show.
    pub fn absent(&self, what: &str) -> String {
        match (self.left_out.is_empty(), self.sentence()) {
            (true, _) => format!("{what} is absent: there are no rows."),
            (false, sentence) => format!("{what} is absent, because no row can be used. {sentence}"),
        }
    }
}

/// A share in percent; `None` of nothing.
pub(super) fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

/// The value with a decimal, or a dash.
pub(super) fn tenth(value: Option<f64>) -> String {
    value.map_or_else(|| crate::columns::NOTHING.to_owned(), |value| format!("{value:.1}"))
}

/// The value with four digits, or a dash.
pub(super) fn number(value: Option<f64>) -> String {
    value.map_or_else(|| crate::columns::NOTHING.to_owned(), crate::number::number)
}

/// Nanoseconds as milliseconds.
pub(super) fn milliseconds(time_ns: u64) -> f64 {
    time_ns as f64 / 1e6
}
