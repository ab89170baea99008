//! The parts of the report, and the rows that they are made of.

use super::{answers, delay, deployment, lead, limit, report_row::ScanReportRow, rows::Rows, section::Section, week};
use crate::plot;

/// Everything the report of a scan shows. The same rows give the same bytes, whatever their order.
#[derive(Clone, Debug)]
pub struct ScanReport {
    pub(super) title: String,
    pub(super) command: String,
    pub(super) notes: Vec<String>,
    rows: Rows,
}

impl ScanReport {
    /// A report without rows. `command` is what makes the report again.
    pub fn new(title: impl Into<String>, command: impl Into<String>) -> Self {
        ScanReport { title: title.into(), command: command.into(), notes: Vec::new(), rows: Rows::default() }
    }

    /// Adds a sentence that stands at the top, such as which column a file does not have.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds a row.
    pub fn push(&mut self, row: &ScanReportRow) {
        self.rows.push(row);
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows.all.len()
    }

    pub(super) fn sections(&self) -> Vec<Section> {
        PARTS.iter().map(|part| part(&self.rows)).collect()
    }
}

/// The parts, in the order of the page.
const PARTS: [fn(&Rows) -> Section; 8] = [
    answers::section,
    deployment::section,
    lead::by_cdn,
    week::section,
    delay::section,
    lead::by_place,
    limit::certificates,
    limit::blocked,
];

/// Every picture that has something to show: its name, and the text of its SVG file.
pub fn render_scan_figures(report: &ScanReport) -> Vec<(String, String)> {
    let figures = report.sections().into_iter().flat_map(|section| section.figures);
    figures.map(|figure| (figure.id.clone(), plot::file(&figure))).collect()
}
