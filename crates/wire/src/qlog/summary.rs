//! What is known besides the events.

use std::collections::BTreeMap;

/// Reasons kept apart in [`QlogSummary::not_understood`]; what comes after is counted together.
const MAXIMUM_REASONS: usize = 64;

/// How a trace writes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QlogTimeFormat {
    /// Times count from the trace's time 0 (`relative`, `relative_to_epoch`, `relative_time`).
    Relative,
    /// Times count from the event before (`delta`, `relative_to_previous_event`, `delta_time`).
    Delta,
    /// Times count from 1970 (`absolute`).
    Absolute,
}

/// One trace: mostly one connection of one endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QlogTrace {
    /// `client`, `server`, `network`, or what else the file says.
    pub vantage_point: Option<String>,
    /// The trace's title, or else the file's.
    pub title: Option<String>,
    /// ns since 1970 at time 0. `Some(0)` where times are absolute. `None`: the file does not say, or its clock is not tied
    /// to 1970.
    pub reference_ns: Option<i64>,
    /// The ID of the trace, or else of its first event that has one, or the server's transport parameters, or the destination of the
    /// client's first Initial, which in the log of a server that sent a Retry is not the original one.
    pub original_destination_connection_id: Option<Vec<u8>>,
    /// The format that is declared; where nothing is declared, absolute if the first time lies later than March 1973, else relative.
    /// `None`: nothing declared and no event.
    pub time_format: Option<QlogTimeFormat>,
    /// `qlog_version`, or else `file_schema`. Empty: neither is there.
    pub version: String,
}

/// What a file held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QlogSummary {
    /// The traces, in the order of the file.
    pub traces: Vec<QlogTrace>,
    /// Events handed out.
    pub events: u64,
    /// Why something was left out, and how often: whole events, or single members of events that were handed out.
    pub not_understood: BTreeMap<String, u64>,
    /// The file ends in the middle: offset of the first byte that was of no use, which is where the incomplete event begins,
    /// or the length of the file where it ends between two events. A sequence that ends between two records is whole.
    pub cut_at_byte: Option<u64>,
    /// What to look at before trusting the times.
    pub warnings: Vec<String>,
}

impl QlogSummary {
    pub(super) fn count(&mut self, reason: &str) {
        let full = self.not_understood.len() >= MAXIMUM_REASONS && !self.not_understood.contains_key(reason);
        let reason = if full { "further reasons" } else { reason };
        *self.not_understood.entry(reason.to_owned()).or_insert(0) += 1;
    }

    pub(super) fn warn(&mut self, warning: String) {
        if self.warnings.len() < MAXIMUM_REASONS && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}
