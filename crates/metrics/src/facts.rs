//! What is known of each metric beside its definition: which direction is better, what it is about, how fine it is.

/// Which direction of a metric is better for a sender that shares a path with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More.
    Higher,
    /// Less.
    Lower,
    /// Neither: a fact about the transfer.
    Neither,
}

/// What a metric is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Theme {
    /// How evenly packets leave.
    Pacing,
    /// Packets lost, dropped or sent again.
    Loss,
    /// Bytes per time.
    Goodput,
    /// Queues.
    Delay,
    /// How long it takes until bytes flow.
    Handshake,
    /// What was measured with.
    Other,
}

/// What is known of one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricFacts {
    /// Its name in `metrics.json`; of a metric of a part of the transfer, that of the whole.
    pub name: &'static str,
    /// Which direction is better.
    pub better: Better,
    /// What it is about.
    pub theme: Theme,
    /// The smallest step that it can take, in its unit. Of a share of packets, that of a transfer of about 1 MiB.
    pub resolution: f64,
    /// Whether a comparison judges it unless it is told what to judge. Few, since each makes the others harder to show.
    pub is_primary: bool,
}

use Better::{Higher, Lower, Neither};
use Theme::{Delay, Goodput, Handshake, Loss, Other, Pacing};

/// Of counts, bytes, nanoseconds, bits per second.
const UNIT: f64 = 1.0;
/// Of shares and quotients.
const THOUSANDTH: f64 = 1e-3;

/// Every metric.
const ALL: &[MetricFacts] = &[
    row("packets_sent", Neither, Other, UNIT),
    row("bytes_sent", Neither, Other, UNIT),
    row("payload_bytes_sent", Neither, Other, UNIT),
    row("duration_ns", Lower, Goodput, UNIT),
    row("throughput_bps", Neither, Goodput, UNIT),
    row("gap_median_ns", Neither, Pacing, UNIT),
    primary("gap_share_below_100us", Lower, Pacing, THOUSANDTH),
    primary("gap_coefficient_of_variation", Lower, Pacing, THOUSANDTH),
    row("train_share_of_packets_1", Neither, Pacing, THOUSANDTH),
    primary("train_share_of_packets_le_5", Higher, Pacing, THOUSANDTH),
    row("train_share_of_trains_le_5", Higher, Pacing, THOUSANDTH),
    primary("train_max_packets", Lower, Pacing, UNIT),
    row("burst_max_bytes", Lower, Pacing, UNIT),
    row("burst_mean_bytes", Lower, Pacing, UNIT),
    primary("peak_to_mean_1ms", Lower, Pacing, THOUSANDTH),
    row("peak_to_mean_10ms", Lower, Pacing, THOUSANDTH),
    row("burst_share_of_packets", Lower, Pacing, THOUSANDTH),
    row("burst_share_start_up", Neither, Pacing, THOUSANDTH),
    row("burst_share_recovery_end", Neither, Pacing, THOUSANDTH),
    row("burst_share_late_timer", Neither, Pacing, THOUSANDTH),
    row("burst_share_batch", Neither, Pacing, THOUSANDTH),
    row("burst_share_application_pause", Neither, Pacing, THOUSANDTH),
    row("burst_share_bucket", Neither, Pacing, THOUSANDTH),
    row("burst_share_ack", Neither, Pacing, THOUSANDTH),
    row("burst_share_unknown", Neither, Pacing, THOUSANDTH),
    row("pacing_bucket_packets", Neither, Pacing, UNIT),
    row("slow_start_end_ns", Neither, Other, UNIT),
    primary("goodput_wire_bps", Higher, Goodput, UNIT),
    row("goodput_process_bps", Higher, Goodput, UNIT),
    row("stream_bytes", Neither, Other, UNIT),
    row("packets_retransmitted", Lower, Loss, UNIT),
    row("retransmitted_bytes", Lower, Loss, UNIT),
    row("packets_lost", Lower, Loss, UNIT),
    row("packets_lost_spuriously", Lower, Loss, UNIT),
    row("packets_reordered", Neither, Other, UNIT),
    row("packets_duplicated", Neither, Other, UNIT),
    row("packet_numbers_missing", Neither, Other, UNIT),
    row("acks_received", Neither, Other, UNIT),
    row("ack_delay_median_ns", Neither, Other, UNIT),
    row("bytes_in_flight_max", Neither, Other, UNIT),
    row("bytes_in_flight_mean", Neither, Other, UNIT),
    row("congestion_window_reductions", Neither, Loss, UNIT),
    row("congestion_window_restorations", Neither, Loss, UNIT),
    row("rtt_samples", Neither, Other, UNIT),
    row("rtt_min_ns", Neither, Delay, UNIT),
    row("rtt_median_ns", Lower, Delay, UNIT),
    primary("rtt_p95_ns", Lower, Delay, UNIT),
    row("rtt_max_ns", Lower, Delay, UNIT),
    row("smoothed_rtt_ns", Neither, Delay, UNIT),
    row("handshake_first_reply_ns", Lower, Handshake, UNIT),
    row("handshake_server_hello_ns", Lower, Handshake, UNIT),
    row("handshake_first_one_rtt_ns", Lower, Handshake, UNIT),
    row("handshake_client_finished_ns", Lower, Handshake, UNIT),
    row("handshake_confirmed_ns", Lower, Handshake, UNIT),
    row("time_to_first_byte_ns", Lower, Handshake, UNIT),
    row("precision_sd_ns", Lower, Pacing, UNIT),
    row("precision_samples", Neither, Other, UNIT),
    primary("drops_packets", Lower, Loss, UNIT),
    row("cpu_busy_share", Neither, Other, THOUSANDTH),
];

const fn row(name: &'static str, better: Better, theme: Theme, resolution: f64) -> MetricFacts {
    MetricFacts { name, better, theme, resolution, is_primary: false }
}

const fn primary(name: &'static str, better: Better, theme: Theme, resolution: f64) -> MetricFacts {
    MetricFacts { name, better, theme, resolution, is_primary: true }
}

/// Names of metrics of a part of the transfer: behind this stands the name of the metric of the whole.
const PARTS: [&str; 2] = ["slow_start_", "steady_"];

/// What is known of the metric `name`; `None` where there is none of that name. A metric of a part of the transfer is like that of the whole,
/// but judged only where that is asked for, and only pacing has a better direction there: how long slow start takes is a fact.
pub fn metric_facts(name: &str) -> Option<MetricFacts> {
    let find = |name: &str| ALL.iter().find(|facts| facts.name == name).copied();
    let of_part = || {
        let whole = PARTS.iter().find_map(|part| name.strip_prefix(part))?;
        let facts = find(whole)?;
        let better = if facts.theme == Pacing { facts.better } else { Neither };
        Some(MetricFacts { is_primary: false, better, ..facts })
    };
    find(name).or_else(of_part)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::RunMetrics;

    #[test]
    fn every_metric_has_its_facts_once() {
        let json: serde_json::Value = serde_json::from_str(&RunMetrics::empty().to_json()).unwrap();
        let names: BTreeSet<_> = json["metrics"].as_object().unwrap().keys().map(String::as_str).collect();
        let without: Vec<_> = names.iter().filter(|name| metric_facts(name).is_none()).collect();
        assert!(without.is_empty(), "add a line for {without:?}");
        assert_eq!(ALL.iter().map(|facts| facts.name).collect::<BTreeSet<_>>().len(), ALL.len());
        let unknown: Vec<_> = ALL.iter().map(|facts| facts.name).filter(|name| !names.contains(name)).collect();
        assert!(unknown.is_empty(), "there are no metrics {unknown:?}");
    }

    #[test]
    fn a_metric_of_a_part_is_like_that_of_the_whole_but_not_judged_by_default() {
        let facts = metric_facts("steady_train_max_packets").unwrap();
        assert_eq!((facts.better, facts.is_primary), (Lower, false));
        assert!(metric_facts("train_max_packets").unwrap().is_primary);
        assert_eq!(metric_facts("slow_start_duration_ns").unwrap().better, Neither);
        assert_eq!(metric_facts("steady_nothing"), None);
    }

    #[test]
    fn what_is_judged_by_default_has_a_better_direction() {
        assert!(ALL.iter().filter(|facts| facts.is_primary).all(|facts| facts.better != Neither));
    }
}
