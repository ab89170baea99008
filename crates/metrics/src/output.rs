//! What a run's `metrics.json` holds.

use serde::{Deserialize, Serialize};

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunMetrics {
    /// Version of this layout.
    pub schema: u32,
    pub metrics: Metrics,
    pub distributions: Distributions,
    pub warnings: Vec<Warning>,
}

/// One number per field; `None` (null) where it could not be measured, never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    pub packets_sent: Option<u64>,
    pub duration_ns: Option<u64>,
    pub gap_median_ns: Option<u64>,
    pub gap_share_below_100us: Option<f64>,
    pub train_share_of_packets_1: Option<f64>,
    pub train_share_of_packets_le_5: Option<f64>,
    pub train_share_of_trains_le_5: Option<f64>,
    pub train_max_packets: Option<u64>,
    pub goodput_wire_bps: Option<f64>,
    pub goodput_process_bps: Option<f64>,
    pub drops_packets: Option<u64>,
    pub cpu_busy_share: Option<f64>,
}

/// What the report draws without reading the capture again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distributions {
    /// Log-spaced bins: (upper edge in ns, gaps at or below it and above the previous edge), empty bins left out.
    pub gaps_ns: Vec<(u64, u64)>,
    /// (train length in packets, number of trains), ascending.
    pub trains: Vec<(u64, u64)>,
}

/// "Check this before trusting the run."
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable name, for example `capture_lost_packets`.
    pub code: String,
    pub message: String,
}
