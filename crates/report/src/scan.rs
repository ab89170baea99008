//! The report of a scan: from its rows to the tables and figures of a study of instant ACKs in the wild, with what was
//! published beside, and what the study lacks: certificates against the amplification limit.
//!
//! Give every row to [`ScanReport::push`], in any order, then render. A row takes some 200 bytes and its texts once, so a
//! million rows are far below 1 GiB. Each part is a file that makes a `Section`; the page and the Markdown are made of the
//! same sections.

mod answers;
mod curves;
mod date;
mod delay;
mod deployment;
mod html;
mod lead;
mod limit;
mod markdown;
mod published;
mod rows;
mod section;
#[cfg(test)]
mod tests;
mod week;
mod week_pictures;

use crate::plot;
use rows::Rows;
use section::Section;

pub use html::render_scan_html;
pub use markdown::render_scan_markdown;

/// One handshake, from the columns of the same names (docs/reference/scan.md). `None`: not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanReportRow {
    /// When the first datagram left, in nanoseconds since 1970; 0 where none left.
    pub time_ns: u64,
    /// The server's name. An empty text is none, here and below.
    pub name: Option<String>,
    /// Place of the name in a list of names, from 1. Where there is no group, it says whether a name is popular.
    pub rank: Option<u64>,
    /// Group of the target, to compare with others, such as `popular` and `unpopular`.
    pub group: Option<String>,
    /// Who runs the server. `None` is what the study calls others.
    pub cdn: Option<String>,
    /// Where the server is: the code of an airport.
    pub location: Option<String>,
    /// Place from where was scanned.
    pub place: Option<String>,
    /// The server's first answer, by the names of `quiclab_metrics::FirstAnswer`; another word counts as not known.
    pub first_answer: Option<String>,
    /// Whether an instant ACK was padded to at least 1200 bytes.
    pub is_ack_padded: Option<bool>,
    /// Time from the first acknowledgment to the ServerHello.
    pub ack_to_hello_ns: Option<u64>,
    /// Time from the ClientHello to the first acknowledgment.
    pub first_rtt_ns: Option<u64>,
    /// ACK Delay of the first ACK frame in an Initial packet.
    pub initial_ack_delay_ns: Option<u64>,
    /// The same in a Handshake packet.
    pub handshake_ack_delay_ns: Option<u64>,
    /// `completed` where the handshake completed. Rows of captures have no outcome: give `completed` where `is_complete` is true.
    pub outcome: Option<String>,
    /// What the server sent before the client's address was validated, divided by what it had received. What is not finite is not known.
    pub amplification_factor: Option<f64>,
    /// Bytes of the Certificate message.
    pub certificate_bytes: Option<u64>,
    /// How long the limit of three times (RFC 9000, section 8.1) kept the server from sending; 0 where it did not.
    pub blocked_ns: Option<u64>,
}

/// Everything the report of a scan shows. The same rows give the same bytes, whatever their order.
#[derive(Clone, Debug)]
pub struct ScanReport {
    title: String,
    command: String,
    notes: Vec<String>,
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

    fn sections(&self) -> Vec<Section> {
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
