//! What `quiclab analyze` shows of captures: the terminal's tables, JSON, a page.

mod figures;
mod handshake;
mod html;
mod json;
mod tap;
mod terminal;

use quiclab_metrics::{CaptureAnalysis, Metrics};
use quiclab_units::{ByteCount, Duration};

use crate::columns::Column;

pub use html::render_analysis_html;
pub use json::render_analysis_json;
pub use terminal::render_analysis_terminal;

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
    /// Its file, as it was given.
    pub file: String,
    /// What was measured.
    pub analysis: CaptureAnalysis,
}

/// A metric as text; `None` where it was not measured.
pub(crate) fn cell(column: &Column, metrics: &Metrics) -> Option<String> {
    let value = (column.value)(metrics)?;
    // Decimals of counts are for means over runs.
    let is_count = column.divisor == 1.0 && column.decimals <= 1 && value.fract() == 0.0;
    Some(if is_count { format!("{value:.0}") } else { column.number(value) })
}

/// Name of a flow's sender and receiver.
pub(crate) fn endpoints(capture: &AnalyzedCapture, flow: usize, sender: quiclab_wire::Role) -> (String, String) {
    let flow = &capture.analysis.flows[flow];
    let (client, server) = (flow.client.to_string(), flow.server.to_string());
    match sender {
        quiclab_wire::Role::Server => (server, client),
        quiclab_wire::Role::Client => (client, server),
    }
}
