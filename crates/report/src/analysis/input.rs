//! Captures that were analyzed, and what their parts are called.

use quiclab_metrics::{CaptureAnalysis, Metrics};
use quiclab_units::{ByteCount, Duration};
use quiclab_wire::Role;

use crate::columns::Column;

/// Captures that were analyzed together.
#[derive(Clone, Debug)]
pub struct AnalysisInput {
    /// The captures, in the order of the command line.
    pub captures: Vec<AnalyzedCapture>,
    /// Gaps strictly below it join two packets into a train.
    pub train_threshold: Duration,
    /// Length of the time windows.
    pub window: Option<Duration>,
    /// Length of the response as given.
    pub response_bytes: Option<ByteCount>,
    /// What was to be said about files beside the captures: qlogs, key logs, lists of planned times.
    pub notes: Vec<String>,
}

/// One capture.
#[derive(Clone, Debug)]
pub struct AnalyzedCapture {
    /// The capture's file, as it was given.
    pub file: String,
    /// The analysis of the capture.
    pub analysis: CaptureAnalysis,
}

/// A metric as text; `None` where it was not measured.
pub(super) fn cell(column: &Column, metrics: &Metrics) -> Option<String> {
    let value = (column.value)(metrics)?;
    // Decimals of counts are for means over runs.
    let is_count = column.divisor == 1.0 && column.decimals <= 1 && value.fract() == 0.0;
    Some(if is_count { format!("{value:.0}") } else { column.number(value) })
}

/// Name of a flow's sender and receiver.
pub(super) fn endpoints(capture: &AnalyzedCapture, flow: usize, sender: Role) -> (String, String) {
    let flow = &capture.analysis.flows[flow];
    let (client, server) = (flow.client.to_string(), flow.server.to_string());
    match sender {
        Role::Server => (server, client),
        Role::Client => (client, server),
    }
}
