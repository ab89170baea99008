//! The lines of the tables: a new one is an entry of [`ROWS`].

use quiclab_metrics::Metrics;

/// One metric as it is shown.
pub(crate) struct Row {
    /// What stands before it, with the unit.
    pub(crate) heading: &'static str,
    /// Its value as text; `None` where it was not measured.
    pub(crate) value: fn(&Metrics) -> Option<String>,
    /// Whether the table of many flows has it.
    pub(crate) brief: bool,
}

const fn row(heading: &'static str, value: fn(&Metrics) -> Option<String>) -> Row {
    Row { heading, value, brief: false }
}

const fn brief(heading: &'static str, value: fn(&Metrics) -> Option<String>) -> Row {
    Row { heading, value, brief: true }
}

fn count(value: Option<u64>) -> Option<String> {
    value.map(|value| value.to_string())
}

fn milliseconds(value: Option<u64>) -> Option<String> {
    value.map(|value| format!("{:.3}", value as f64 / 1e6))
}

fn share(value: Option<f64>) -> Option<String> {
    value.map(|value| format!("{value:.4}"))
}

fn megabits(value: Option<f64>) -> Option<String> {
    value.map(|value| format!("{:.2}", value / 1e6))
}

/// Those without a value in any flow are left out.
pub(crate) const ROWS: &[Row] = &[
    brief("packets", |metrics| count(metrics.packets_sent)),
    row("bytes of frames", |metrics| count(metrics.bytes_sent)),
    brief("duration, s", |metrics| metrics.duration_ns.map(|ns| format!("{:.3}", ns as f64 / 1e9))),
    row("throughput, Mbit/s", |metrics| megabits(metrics.throughput_bps)),
    brief("goodput, Mbit/s", |metrics| megabits(metrics.goodput_wire_bps)),
    row("median gap, ms", |metrics| milliseconds(metrics.gap_median_ns)),
    brief("gaps below 0.1 ms, share", |metrics| share(metrics.gap_share_below_100us)),
    row("gaps, standard deviation / mean", |metrics| {
        metrics.gap_coefficient_of_variation.map(|value| format!("{value:.2}"))
    }),
    brief("packets in trains of 1, share", |metrics| share(metrics.train_share_of_packets_1)),
    brief("packets in trains \u{2264} 5, share", |metrics| share(metrics.train_share_of_packets_le_5)),
    row("trains \u{2264} 5, share of trains", |metrics| share(metrics.train_share_of_trains_le_5)),
    brief("longest train, packets", |metrics| count(metrics.train_max_packets)),
    row("largest burst, bytes", |metrics| count(metrics.burst_max_bytes)),
    row("peak rate in 1 ms / mean", |metrics| metrics.peak_to_mean_1ms.map(|value| format!("{value:.2}"))),
    row("peak rate in 10 ms / mean", |metrics| metrics.peak_to_mean_10ms.map(|value| format!("{value:.2}"))),
    row("packets in trains > 5, share", |metrics| share(metrics.burst_share_of_packets)),
    row("\u{a0}\u{a0}of these: start-up", |metrics| share(metrics.burst_share_start_up)),
    row("\u{a0}\u{a0}end of recovery", |metrics| share(metrics.burst_share_recovery_end)),
    row("\u{a0}\u{a0}late timer", |metrics| share(metrics.burst_share_late_timer)),
    row("\u{a0}\u{a0}batch (GSO, sendmmsg)", |metrics| share(metrics.burst_share_batch)),
    row("\u{a0}\u{a0}application pause", |metrics| share(metrics.burst_share_application_pause)),
    row("\u{a0}\u{a0}ACK", |metrics| share(metrics.burst_share_ack)),
    row("\u{a0}\u{a0}unknown", |metrics| share(metrics.burst_share_unknown)),
    row("bytes of streams", |metrics| count(metrics.stream_bytes)),
    brief("packets lost", |metrics| count(metrics.packets_lost)),
    row("packets lost spuriously", |metrics| count(metrics.packets_lost_spuriously)),
    brief("packets retransmitted", |metrics| count(metrics.packets_retransmitted)),
    row("bytes retransmitted", |metrics| count(metrics.retransmitted_bytes)),
    row("packets reordered", |metrics| count(metrics.packets_reordered)),
    row("packets seen twice", |metrics| count(metrics.packets_duplicated)),
    row("packet numbers missing", |metrics| count(metrics.packet_numbers_missing)),
    row("ACKs received", |metrics| count(metrics.acks_received)),
    row("median ACK delay reported, ms", |metrics| milliseconds(metrics.ack_delay_median_ns)),
    row("RTT samples", |metrics| count(metrics.rtt_samples)),
    row("smallest RTT, ms", |metrics| milliseconds(metrics.rtt_min_ns)),
    brief("median RTT, ms", |metrics| milliseconds(metrics.rtt_median_ns)),
    row("95 % of RTTs, ms", |metrics| milliseconds(metrics.rtt_p95_ns)),
    row("largest RTT, ms", |metrics| milliseconds(metrics.rtt_max_ns)),
    row("mean bytes in flight", |metrics| metrics.bytes_in_flight_mean.map(|value| format!("{value:.0}"))),
    row("most bytes in flight", |metrics| count(metrics.bytes_in_flight_max)),
    row("handshake: first reply, ms", |metrics| milliseconds(metrics.handshake_first_reply_ns)),
    row("handshake: ServerHello, ms", |metrics| milliseconds(metrics.handshake_server_hello_ns)),
    row("handshake: first 1-RTT packet, ms", |metrics| milliseconds(metrics.handshake_first_one_rtt_ns)),
    row("handshake: client's Finished, ms", |metrics| milliseconds(metrics.handshake_client_finished_ns)),
    row("handshake: confirmed, ms", |metrics| milliseconds(metrics.handshake_confirmed_ns)),
    row("time to first byte, ms", |metrics| milliseconds(metrics.time_to_first_byte_ns)),
    row("precision (actual \u{2212} planned), ms", |metrics| {
        metrics.precision_sd_ns.map(|value| format!("{:.4}", value / 1e6))
    }),
    row("packets with a planned time", |metrics| count(metrics.precision_samples)),
];
