//! What a run's `metrics.json` holds.

use serde::{Deserialize, Serialize};

use crate::bursts::cause::Burst;
use crate::handshake::detail::HandshakeDetail;
use crate::metrics::Metrics;
use crate::slow_start::SlowStart;
use crate::warnings::WarningCode;

/// Version of the layout. Changes when a field changes its meaning, its unit or its name, or was measured wrongly: files with an older
/// one are measured again.
pub const SCHEMA: u32 = 6;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunMetrics {
    /// Version of this layout and of how it is measured, [`SCHEMA`].
    pub schema: u32,
    /// One number each.
    pub metrics: Metrics,
    /// What figures are drawn from.
    pub distributions: Distributions,
    /// Where slow start and steady state part, and why there. `None` without a flow, and in files of older versions.
    #[serde(default)]
    pub slow_start: Option<SlowStart>,
    /// How the handshake was seen, and each end's estimates of the round-trip time. `None` without a handshake, for the client's
    /// direction, and in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake: Option<HandshakeDetail>,
    /// Metrics that are null because something that they need was not in the capture, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
    /// What to look at before trusting the numbers, in a fixed order.
    pub warnings: Vec<Warning>,
}

/// Why some metrics are null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Withheld {
    /// What was not there, in words and numbers.
    pub reason: String,
    /// The names of the metrics, in the order of [`Metrics`]. A metric can be null for several reasons.
    pub metrics: Vec<String>,
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
    /// The longest trains of more than 5 packets with their causes, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bursts: Vec<Burst>,
    /// RTT samples in bins as those of the gaps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rtt_ns: Vec<(u64, u64)>,
    /// (time at the tap − planned time) less its smallest value, in bins as those of the gaps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lateness_ns: Vec<(u64, u64)>,
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
    /// The text is not JSON, or not of this layout.
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
            slow_start: None,
            handshake: None,
            withheld: Vec::new(),
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

    /// Adds a warning.
    pub fn warn(&mut self, code: WarningCode, message: String) {
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
        assert!(metrics.len() > 40);
        assert!(metrics.values().all(serde_json::Value::is_null));
    }

    #[test]
    fn a_metric_is_found_by_its_name() {
        let metrics = Metrics { drops_packets: Some(7), ..Metrics::default() };
        assert_eq!(metrics.value("drops_packets"), Some(Some(7.0)));
        assert_eq!(metrics.value("gap_median_ns"), Some(None));
        assert_eq!(metrics.value("drops"), None);
    }

    #[test]
    fn another_schema_is_refused_by_number() {
        let text = RunMetrics::empty().to_json().replace(&format!("\"schema\": {SCHEMA}"), "\"schema\": 1");
        let error = RunMetrics::from_json(&text).unwrap_err().to_string();
        assert!(error.contains(&format!("found 1, expected {SCHEMA}")), "{error}");
    }

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        let text = RunMetrics::empty().to_json().replace("packets_sent", "packets_set");
        let error = RunMetrics::from_json(&text).unwrap_err().to_string();
        assert!(error.contains("packets_set"), "{error}");
    }
}
