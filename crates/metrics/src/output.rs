//! What a run's `metrics.json` holds.

use serde::{Deserialize, Serialize};

use crate::warnings::WarningCode;

/// Version of the layout. Changes when a field changes its meaning, its unit or its name.
pub const SCHEMA: u32 = 1;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunMetrics {
    /// Version of this layout, [`SCHEMA`].
    pub schema: u32,
    /// One number each.
    pub metrics: Metrics,
    /// What figures are drawn from.
    pub distributions: Distributions,
    /// What to look at before trusting the numbers, in a fixed order.
    pub warnings: Vec<Warning>,
}

/// One number per field; `None` (null) where it could not be measured, never 0. Defined in docs/reference/metrics.md.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Packets of the flow from server to client at the sender's tap.
    pub packets_sent: Option<u64>,
    /// From the first to the last of them.
    pub duration_ns: Option<u64>,
    /// Median time between consecutive ones. Null with fewer than two packets.
    pub gap_median_ns: Option<u64>,
    /// Share of gaps strictly below 0.1 ms, 0 to 1.
    pub gap_share_below_100us: Option<f64>,
    /// Share of packets that are a train of their own, 0 to 1.
    pub train_share_of_packets_1: Option<f64>,
    /// Share of packets in trains of at most 5 packets, 0 to 1.
    pub train_share_of_packets_le_5: Option<f64>,
    /// Share of trains that have at most 5 packets, 0 to 1.
    pub train_share_of_trains_le_5: Option<f64>,
    /// Length of the longest train.
    pub train_max_packets: Option<u64>,
    /// Response bits over the time from the first to the last server packet with 1-RTT protection, in bit/s.
    pub goodput_wire_bps: Option<f64>,
    /// Response bits over the lifetime of the client process, in bit/s.
    pub goodput_process_bps: Option<f64>,
    /// Packets dropped at the bottleneck towards the client.
    pub drops_packets: Option<u64>,
    /// Share of the transfer in which the machine was not idle, 0 to 1.
    pub cpu_busy_share: Option<f64>,
}

/// What the report draws without reading the capture again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distributions {
    /// Log-spaced bins, ascending: (upper edge in ns, gaps at or below it and above the previous edge). The edges are
    /// round(10^(k/40)) for whole k from 0; empty bins are left out; a gap of 0 is in the bin of edge 1.
    pub gaps_ns: Vec<(u64, u64)>,
    /// (train length in packets, number of trains of that length), ascending, absent lengths left out.
    pub trains: Vec<(u64, u64)>,
}

/// "Check this before trusting the run."
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// Stable name, for example `capture_lost_packets`; see [`WarningCode`].
    pub code: String,
    /// One sentence with the numbers and what to do.
    pub message: String,
}

/// Why a `metrics.json` cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum MetricsFileError {
    /// Not JSON, or not this layout.
    #[error("{0}\nhint: measure the record again; its capture is still there")]
    Layout(#[from] serde_json::Error),
    /// Written by another version.
    #[error("schema: found {found}, expected {SCHEMA}\nhint: measure the record again with this version")]
    Schema {
        /// The number in the file.
        found: u64,
    },
}

/// The one field that every version has.
#[derive(Deserialize)]
struct SchemaOnly {
    schema: u64,
}

impl RunMetrics {
    /// Nothing measured, nothing to warn of.
    pub fn empty() -> Self {
        RunMetrics {
            schema: SCHEMA,
            metrics: Metrics::default(),
            distributions: Distributions::default(),
            warnings: Vec::new(),
        }
    }

    /// The text of `metrics.json`: indented, fields in the order of declaration, a newline at the end. Equal metrics give
    /// equal bytes.
    pub fn to_json(&self) -> String {
        // Numbers, strings and vectors alone: none of what serde_json refuses (non-string keys, failing Serialize).
        let mut text = serde_json::to_string_pretty(self).expect("metrics hold only what JSON can say");
        text.push('\n');
        text
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    /// [`MetricsFileError`] with line and column, or with the schema found.
    pub fn from_json(text: &str) -> Result<Self, MetricsFileError> {
        let SchemaOnly { schema } = serde_json::from_str(text)?;
        if schema != u64::from(SCHEMA) {
            return Err(MetricsFileError::Schema { found: schema });
        }
        Ok(serde_json::from_str(text)?)
    }

    pub(crate) fn warn(&mut self, code: WarningCode, message: String) {
        self.warnings.push(Warning { code: code.name().to_owned(), message });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_survive_json_to_the_last_bit() {
        let mut run = RunMetrics::empty();
        run.metrics.packets_sent = Some(u64::MAX);
        run.metrics.goodput_wire_bps = Some(37_199_999.999_999_99);
        run.metrics.cpu_busy_share = Some(0.1 + 0.2);
        run.distributions.gaps_ns = vec![(1, 2), (u64::MAX, 3)];
        run.warn(WarningCode::GuestBusy, "a \"quoted\" sentence".to_owned());
        let text = run.to_json();
        let back = RunMetrics::from_json(&text).unwrap();
        assert_eq!(back, run);
        assert_eq!(back.to_json(), text);
    }

    #[test]
    fn what_was_not_measured_is_null_and_not_absent() {
        let value: serde_json::Value = serde_json::from_str(&RunMetrics::empty().to_json()).unwrap();
        let metrics = value["metrics"].as_object().unwrap();
        assert_eq!(metrics.len(), 12);
        assert!(metrics.values().all(serde_json::Value::is_null));
    }

    #[test]
    fn another_schema_is_refused_by_number() {
        let text = RunMetrics::empty().to_json().replace("\"schema\": 1", "\"schema\": 2");
        let error = RunMetrics::from_json(&text).unwrap_err().to_string();
        assert!(error.contains("found 2, expected 1"), "{error}");
    }

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        let text = RunMetrics::empty().to_json().replace("packets_sent", "packets_set");
        let error = RunMetrics::from_json(&text).unwrap_err().to_string();
        assert!(error.contains("packets_set"), "{error}");
    }
}
