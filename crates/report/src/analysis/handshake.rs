//! The section on handshakes.

use quiclab_metrics::{DirectionAnalysis, HandshakeTaps, Metrics, RunMetrics};

use super::{
    input::{AnalyzedCapture, cell},
    tap::title,
};
use crate::columns::{Column, handshake_columns};

/// Stands before a value that is estimated from what a tap elsewhere saw.
const ESTIMATED: char = '~';

/// Whether anything of a handshake was measured.
pub(super) fn has_one(metrics: &Metrics) -> bool {
    handshake_columns().any(|column| (column.value)(metrics).is_some())
}

/// A value, marked where it is an estimate.
pub(super) fn value(column: &Column, run: &RunMetrics) -> Option<String> {
    let is_estimated =
        run.handshake.as_ref().is_some_and(|detail| detail.estimated.iter().any(|name| name == column.metric));
    let value = cell(column, &run.metrics)?;
    Some(if is_estimated { format!("{ESTIMATED}{value}") } else { value })
}

/// Where each handshake was seen, and what its estimates are.
pub(super) fn notes(directions: &[(&AnalyzedCapture, &DirectionAnalysis)]) -> Vec<String> {
    let note = |(capture, direction): &(&AnalyzedCapture, &DirectionAnalysis)| {
        let detail = direction.run.handshake.as_ref()?;
        let place = match detail.taps {
            HandshakeTaps::Both => "was captured at both ends",
            HandshakeTaps::Server => "was captured at the server, as the times of its answers show",
            HandshakeTaps::Client => "was captured at the client, as the times of its answers show",
            HandshakeTaps::Between => "was captured between client and server",
            HandshakeTaps::Unknown => "was captured in one place, and the packets do not show where",
        };
        let estimates = if detail.estimated.is_empty() {
            String::new()
        } else {
            format!("; {ESTIMATED}: estimated from the times at the tap")
        };
        Some(format!("{}: the handshake {place}{estimates}", title(capture, direction).join(" ")))
    };
    directions.iter().filter(|(_, it)| has_one(&it.run.metrics)).filter_map(note).collect()
}
