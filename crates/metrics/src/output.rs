//! What a run's `metrics.json` holds.

use serde::{Deserialize, Serialize};

use crate::bursts::Burst;
use crate::pacing::PacingMetrics;
use crate::phases::SlowStart;
use crate::warnings::WarningCode;

/// Version of the layout. Changes when a field changes its meaning, its unit or its name, or was measured wrongly: files with an older
/// one are measured again.
pub const SCHEMA: u32 = 4;

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

/// One number per field; `None` (null) where it could not be measured, never 0. Defined in docs/reference/metrics.md.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Packets of the flow from its sender (the server, unless said otherwise) at the tap.
    pub packets_sent: Option<u64>,
    /// Bytes of their frames, link header included.
    pub bytes_sent: Option<u64>,
    /// Bytes behind their UDP or TCP headers.
    pub payload_bytes_sent: Option<u64>,
    /// From the first to the last of them.
    pub duration_ns: Option<u64>,
    /// Bits of their frames over that time, in bit/s.
    pub throughput_bps: Option<f64>,
    /// Median time between consecutive ones. Null with fewer than two packets.
    pub gap_median_ns: Option<u64>,
    /// Share of gaps strictly below 0.1 ms, 0 to 1.
    pub gap_share_below_100us: Option<f64>,
    /// Standard deviation of the gaps divided by their mean.
    pub gap_coefficient_of_variation: Option<f64>,
    /// Share of packets that are a train of their own, 0 to 1.
    pub train_share_of_packets_1: Option<f64>,
    /// Share of packets in trains of at most 5 packets, 0 to 1.
    pub train_share_of_packets_le_5: Option<f64>,
    /// Share of trains that have at most 5 packets, 0 to 1.
    pub train_share_of_trains_le_5: Option<f64>,
    /// Length of the longest train.
    pub train_max_packets: Option<u64>,
    /// Bytes of frames in the train that has most.
    pub burst_max_bytes: Option<u64>,
    /// Mean bytes of frames in a train.
    pub burst_mean_bytes: Option<f64>,
    /// Highest rate over any 1 ms, divided by the mean rate. Null for flows no longer than that.
    pub peak_to_mean_1ms: Option<f64>,
    /// The same over 10 ms.
    pub peak_to_mean_10ms: Option<f64>,
    /// Share of packets in trains of more than 5 packets, 0 to 1.
    pub burst_share_of_packets: Option<f64>,
    /// Share of those packets in trains before anything was acknowledged, 0 to 1. The eight shares add up to 1.
    pub burst_share_start_up: Option<f64>,
    /// In trains behind an ACK that ended a recovery.
    pub burst_share_recovery_end: Option<f64>,
    /// In trains that were planned to be spread.
    pub burst_share_late_timer: Option<f64>,
    /// In trains that were handed over together (GSO, sendmmsg, one release of the queueing discipline).
    pub burst_share_batch: Option<f64>,
    /// In trains after the application had had nothing to send.
    pub burst_share_application_pause: Option<f64>,
    /// In trains that emptied the pacer's full bucket.
    #[serde(default)]
    pub burst_share_bucket: Option<f64>,
    /// In trains behind ACKs that freed so much window.
    pub burst_share_ack: Option<f64>,
    /// In trains without a known cause.
    pub burst_share_unknown: Option<f64>,
    /// Packets that the pacer's bucket holds, where the trains show a constant greatest length.
    #[serde(default)]
    pub pacing_bucket_packets: Option<u64>,
    /// From the sender's first packet to the moment that ended slow start; [`RunMetrics::slow_start`] says what did.
    #[serde(default)]
    pub slow_start_end_ns: Option<u64>,
    /// Response bits over the time from the first to the last server packet with 1-RTT protection, in bit/s.
    pub goodput_wire_bps: Option<f64>,
    /// Response bits over the lifetime of the client process, in bit/s.
    pub goodput_process_bps: Option<f64>,
    /// Bytes in STREAM frames (TCP: in segments), each counted once.
    pub stream_bytes: Option<u64>,
    /// Packets with stream or handshake bytes that had been sent before.
    pub packets_retransmitted: Option<u64>,
    /// Bytes that had been sent before.
    pub retransmitted_bytes: Option<u64>,
    /// Packets declared lost by RFC 9002 section 6.1 and never acknowledged.
    pub packets_lost: Option<u64>,
    /// Packets declared lost and acknowledged later.
    pub packets_lost_spuriously: Option<u64>,
    /// Packets with a number smaller than one seen before.
    pub packets_reordered: Option<u64>,
    /// Copies of packets: the tap saw them twice.
    pub packets_duplicated: Option<u64>,
    /// Numbers between the smallest and the largest that the tap did not see: lost before it, or never used.
    pub packet_numbers_missing: Option<u64>,
    /// ACK frames (TCP: acknowledgments that acknowledge something) of the peer.
    pub acks_received: Option<u64>,
    /// Median of the delay that the peer reports in its ACK frames of 1-RTT packets.
    pub ack_delay_median_ns: Option<u64>,
    /// Largest number of bytes in flight.
    pub bytes_in_flight_max: Option<u64>,
    /// Mean over time of the bytes in flight.
    pub bytes_in_flight_mean: Option<f64>,
    /// Times at which the sender's congestion window fell by more than a tenth at once, by its own log.
    #[serde(default)]
    pub congestion_window_reductions: Option<u64>,
    /// Times at which such a reduction was taken back at once.
    #[serde(default)]
    pub congestion_window_restorations: Option<u64>,
    /// RTT samples by RFC 9002 section 5.1 (TCP: RFC 6298), from the tap to the peer and back.
    pub rtt_samples: Option<u64>,
    /// The smallest of them.
    pub rtt_min_ns: Option<u64>,
    /// Their median.
    pub rtt_median_ns: Option<u64>,
    /// Below which 95 % of them lie.
    pub rtt_p95_ns: Option<u64>,
    /// The largest of them.
    pub rtt_max_ns: Option<u64>,
    /// Their smoothed value at the end, RFC 9002 section 5.3.
    pub smoothed_rtt_ns: Option<u64>,
    /// From the client's first packet to the server's first.
    pub handshake_first_reply_ns: Option<u64>,
    /// From the client's first packet to the ServerHello's first packet.
    pub handshake_server_hello_ns: Option<u64>,
    /// From the client's first packet to the server's first with 1-RTT protection.
    pub handshake_first_one_rtt_ns: Option<u64>,
    /// From the client's first packet to its Finished.
    pub handshake_client_finished_ns: Option<u64>,
    /// From the client's first packet to HANDSHAKE_DONE.
    pub handshake_confirmed_ns: Option<u64>,
    /// From the client's first packet to the first byte of an answer.
    pub time_to_first_byte_ns: Option<u64>,
    /// Standard deviation of (time at the tap − time planned by the stack).
    pub precision_sd_ns: Option<f64>,
    /// Packets whose planned time is known.
    pub precision_samples: Option<u64>,
    /// Packets dropped at the bottleneck towards the client.
    pub drops_packets: Option<u64>,
    /// Share of the transfer in which the machine was not idle, 0 to 1.
    pub cpu_busy_share: Option<f64>,
    /// Pacing in slow start: `slow_start_*`. The whole flow where slow start did not end.
    #[serde(flatten, with = "crate::pacing::slow_start")]
    pub slow_start: PacingMetrics,
    /// Pacing after slow start: `steady_*`.
    #[serde(flatten, with = "crate::pacing::steady")]
    pub steady: PacingMetrics,
}

impl Metrics {
    /// The metric of this name: `None` where there is none of it, `Some(None)` where it could not be measured.
    pub fn value(&self, name: &str) -> Option<Option<f64>> {
        // Numbers alone, which JSON can say.
        let all = serde_json::to_value(self).expect("metrics hold only what JSON can say");
        all.get(name).map(serde_json::Value::as_f64)
    }

    /// Makes the metrics of these names null.
    pub(crate) fn clear(&mut self, names: &[&str]) {
        if names.is_empty() {
            return;
        }
        let mut all = serde_json::to_value(&*self).expect("metrics hold only what JSON can say");
        for name in names {
            if let Some(value) = all.get_mut(*name) {
                *value = serde_json::Value::Null;
            }
        }
        *self = serde_json::from_value(all).expect("nulls are metrics too");
    }
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
            slow_start: None,
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
