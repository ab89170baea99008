//! The columns of every table. A new one is a line of [`WHOLE`], or of the list in `handshake.rs` or `host.rs`; `brief`, `main` and
//! `detail` say which tables show it. Columns of handshakes are shown on pages, by `quiclab analyze` and on ladders.

mod column;
mod handshake;
mod host;
pub(crate) mod phases;

use std::collections::BTreeSet;

pub(crate) use column::{Column, NOTHING, Place};
use column::{MEGA, MICRO_OF_NANO, MILLI_OF_NANO, Value, count};

/// Times to the first byte, as a client sees it, and as the tap does, which needs no packets from behind the path.
const FIRST_BYTE: [&str; 2] = ["handshake_client_first_byte_ns", "time_to_first_byte_ns"];
/// What happens to handshakes on most paths.
const DROPS: &str = "drops_packets";

/// Names of the metrics that a report shows, for those who name them elsewhere.
pub fn metric_names() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|column| column.metric)
}

/// All columns, in the order of the tables: those of the whole flow, of the hosts, of its handshake, of its phases.
pub(crate) const COLUMNS: &[Column] =
    &joined::<{ WHOLE.len() + host::COLUMNS.len() + handshake::HANDSHAKE.len() + 2 * phases::PHASED.len() }>(&[
        WHOLE,
        host::COLUMNS,
        handshake::HANDSHAKE,
        &phases::SLOW_START,
        &phases::STEADY,
    ]);

const fn joined<const ALL: usize>(parts: &[&[Column]]) -> [Column; ALL] {
    let mut all = [WHOLE[0]; ALL];
    let (mut part, mut at) = (0, 0);
    while part < parts.len() {
        let mut place = 0;
        while place < parts[part].len() {
            all[at] = parts[part][place];
            place += 1;
            at += 1;
        }
        part += 1;
    }
    all
}

/// A latency of exchanges, in the table of details.
macro_rules! exchange_latency {
    ($metric:ident, $heading:literal) => {
        detail(stringify!($metric), $heading, |metrics| count(metrics.$metric), MILLI_OF_NANO, 3)
    };
}

const WHOLE: &[Column] = &[
    brief("gap_share_below_100us", "gaps below 0.1 ms, share", |metrics| metrics.gap_share_below_100us, 1.0, 3),
    brief(
        "train_share_of_packets_1",
        "packets in trains of 1, share",
        |metrics| metrics.train_share_of_packets_1,
        1.0,
        3,
    ),
    brief(
        "train_share_of_packets_le_5",
        "packets in trains \u{2264} 5, share",
        |metrics| metrics.train_share_of_packets_le_5,
        1.0,
        4,
    ),
    main(
        "train_share_of_trains_le_5",
        "trains \u{2264} 5, share of trains",
        |metrics| metrics.train_share_of_trains_le_5,
        1.0,
        4,
    ),
    brief("train_max_packets", "longest train, packets", |metrics| count(metrics.train_max_packets), 1.0, 1),
    brief("drops_packets", "drops, packets", |metrics| count(metrics.drops_packets), 1.0, 1),
    brief("goodput_wire_bps", "goodput on the wire, Mbit/s", |metrics| metrics.goodput_wire_bps, MEGA, 2),
    brief("goodput_process_bps", "goodput by process, Mbit/s", |metrics| metrics.goodput_process_bps, MEGA, 2),
    main("cpu_busy_share", "guest busy, share", |metrics| metrics.cpu_busy_share, 1.0, 2),
    main("packets_sent", "packets sent", |metrics| count(metrics.packets_sent), 1.0, 0),
    main("packets_lost", "packets lost", |metrics| count(metrics.packets_lost), 1.0, 1),
    main("packets_retransmitted", "packets retransmitted", |metrics| count(metrics.packets_retransmitted), 1.0, 1),
    main("rtt_median_ns", "median RTT, ms", |metrics| count(metrics.rtt_median_ns), MILLI_OF_NANO, 3),
    main("gap_median_ns", "median gap, \u{b5}s", |metrics| count(metrics.gap_median_ns), MICRO_OF_NANO, 1),
    main("duration_ns", "first to last packet, s", |metrics| count(metrics.duration_ns), 1e9, 3),
    detail("throughput_bps", "throughput, Mbit/s", |metrics| metrics.throughput_bps, MEGA, 2),
    detail("bytes_sent", "bytes of frames", |metrics| count(metrics.bytes_sent), 1.0, 0),
    detail("payload_bytes_sent", "bytes of payload", |metrics| count(metrics.payload_bytes_sent), 1.0, 0),
    detail(
        "gap_coefficient_of_variation",
        "gaps, standard deviation / mean",
        |metrics| metrics.gap_coefficient_of_variation,
        1.0,
        2,
    ),
    detail("burst_max_bytes", "largest burst, bytes", |metrics| count(metrics.burst_max_bytes), 1.0, 0),
    detail("burst_mean_bytes", "mean burst, bytes", |metrics| metrics.burst_mean_bytes, 1.0, 0),
    detail("peak_to_mean_1ms", "peak rate in 1 ms / mean", |metrics| metrics.peak_to_mean_1ms, 1.0, 2),
    detail("peak_to_mean_10ms", "peak rate in 10 ms / mean", |metrics| metrics.peak_to_mean_10ms, 1.0, 2),
    detail("burst_share_of_packets", "packets in trains > 5, share", |metrics| metrics.burst_share_of_packets, 1.0, 4),
    detail("burst_share_start_up", "\u{a0}\u{a0}of these: start-up", |metrics| metrics.burst_share_start_up, 1.0, 4),
    detail(
        "burst_share_recovery_end",
        "\u{a0}\u{a0}end of recovery",
        |metrics| metrics.burst_share_recovery_end,
        1.0,
        4,
    ),
    detail("burst_share_late_timer", "\u{a0}\u{a0}late timer", |metrics| metrics.burst_share_late_timer, 1.0, 4),
    detail(
        "burst_share_batch",
        "\u{a0}\u{a0}batch (GSO, sendmmsg, qdisc)",
        |metrics| metrics.burst_share_batch,
        1.0,
        4,
    ),
    detail(
        "burst_share_application_pause",
        "\u{a0}\u{a0}application pause",
        |metrics| metrics.burst_share_application_pause,
        1.0,
        4,
    ),
    detail("burst_share_bucket", "\u{a0}\u{a0}full bucket of the pacer", |metrics| metrics.burst_share_bucket, 1.0, 4),
    detail("burst_share_ack", "\u{a0}\u{a0}ACK", |metrics| metrics.burst_share_ack, 1.0, 4),
    detail("burst_share_unknown", "\u{a0}\u{a0}unknown", |metrics| metrics.burst_share_unknown, 1.0, 4),
    detail(
        "pacing_bucket_packets",
        "the pacer's bucket, packets",
        |metrics| count(metrics.pacing_bucket_packets),
        1.0,
        1,
    ),
    detail(
        "slow_start_end_ns",
        "slow start ended after, ms",
        |metrics| count(metrics.slow_start_end_ns),
        MILLI_OF_NANO,
        3,
    ),
    detail(
        "congestion_window_reductions",
        "congestion window reduced, times",
        |metrics| count(metrics.congestion_window_reductions),
        1.0,
        1,
    ),
    detail(
        "congestion_window_restorations",
        "reductions undone, times",
        |metrics| count(metrics.congestion_window_restorations),
        1.0,
        1,
    ),
    detail("stream_bytes", "bytes of streams", |metrics| count(metrics.stream_bytes), 1.0, 0),
    detail("retransmitted_bytes", "bytes retransmitted", |metrics| count(metrics.retransmitted_bytes), 1.0, 0),
    detail(
        "packets_lost_spuriously",
        "packets lost spuriously",
        |metrics| count(metrics.packets_lost_spuriously),
        1.0,
        1,
    ),
    detail("packets_reordered", "packets reordered", |metrics| count(metrics.packets_reordered), 1.0, 1),
    detail("packets_duplicated", "packets seen twice", |metrics| count(metrics.packets_duplicated), 1.0, 1),
    detail("packet_numbers_missing", "packet numbers missing", |metrics| count(metrics.packet_numbers_missing), 1.0, 1),
    detail("acks_received", "ACKs received", |metrics| count(metrics.acks_received), 1.0, 0),
    detail(
        "ack_delay_median_ns",
        "median ACK delay reported, ms",
        |metrics| count(metrics.ack_delay_median_ns),
        MILLI_OF_NANO,
        3,
    ),
    detail("rtt_samples", "RTT samples", |metrics| count(metrics.rtt_samples), 1.0, 0),
    detail("rtt_min_ns", "smallest RTT, ms", |metrics| count(metrics.rtt_min_ns), MILLI_OF_NANO, 3),
    detail("rtt_p95_ns", "95 % of RTTs, ms", |metrics| count(metrics.rtt_p95_ns), MILLI_OF_NANO, 3),
    detail("rtt_max_ns", "largest RTT, ms", |metrics| count(metrics.rtt_max_ns), MILLI_OF_NANO, 3),
    detail("nothing_to_send_share", "nothing to send, share of time", |metrics| metrics.nothing_to_send_share, 1.0, 3),
    detail("exchanges_complete", "complete exchanges", |metrics| count(metrics.exchanges_complete), 1.0, 0),
    exchange_latency!(exchange_latency_median_ns, "median exchange latency, ms"),
    exchange_latency!(exchange_latency_p95_ns, "95 % of exchange latencies, ms"),
    exchange_latency!(exchange_latency_p99_ns, "99 % of exchange latencies, ms"),
    exchange_latency!(exchange_latency_max_ns, "longest exchange latency, ms"),
    detail(
        "smoothed_rtt_ns",
        "smoothed RTT at the end, ms",
        |metrics| count(metrics.smoothed_rtt_ns),
        MILLI_OF_NANO,
        3,
    ),
    detail("bytes_in_flight_mean", "mean bytes in flight", |metrics| metrics.bytes_in_flight_mean, 1.0, 0),
    detail("bytes_in_flight_max", "most bytes in flight", |metrics| count(metrics.bytes_in_flight_max), 1.0, 0),
    detail(
        "precision_sd_ns",
        "precision (actual \u{2212} planned), ms",
        |metrics| metrics.precision_sd_ns,
        MILLI_OF_NANO,
        4,
    ),
    detail("precision_samples", "packets with a planned time", |metrics| count(metrics.precision_samples), 1.0, 0),
];

/// The column of a metric that has one.
pub(crate) fn column_of(metric: &str) -> &'static Column {
    COLUMNS.iter().find(|column| column.metric == metric).expect("the pictures name columns that there are")
}

/// Columns of an experiment's tables; the others stand below them.
pub(crate) fn main_columns() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(|column| matches!(column.place, Place::Brief | Place::Main))
}

/// Columns of the table in the terminal. Where metrics of handshakes are `asked` for: the time to the first byte, what is asked for, and
/// drops; `has_values` is asked of a metric.
pub(crate) fn brief_columns(asked: &BTreeSet<&str>, has_values: impl Fn(&Column) -> bool) -> Vec<&'static Column> {
    if !handshake_columns().any(|column| asked.contains(column.metric)) {
        return COLUMNS.iter().filter(|column| column.place == Place::Brief).collect();
    }
    let first_byte = FIRST_BYTE.map(column_of);
    let first_byte = first_byte.into_iter().find(|column| has_values(column)).unwrap_or(first_byte[0]);
    let is_shown = |column: &&Column| asked.contains(column.metric) && column.metric != first_byte.metric;
    let drops = column_of(DROPS);
    let others = COLUMNS.iter().filter(|column| column.place != Place::Handshake && column.metric != drops.metric);
    [first_byte]
        .into_iter()
        .chain(handshake_columns().filter(is_shown))
        .chain(others.filter(is_shown))
        .chain([drops])
        .collect()
}

/// Columns of the handshake.
pub(crate) fn handshake_columns() -> impl Iterator<Item = &'static Column> {
    handshake::HANDSHAKE.iter()
}

/// Columns of what the hosts did.
pub(crate) fn host_columns() -> impl Iterator<Item = &'static Column> {
    host::COLUMNS.iter()
}

/// Columns of every metric of the whole flow; handshake and phases have tables of their own.
pub(crate) fn whole_columns() -> impl Iterator<Item = &'static Column> {
    WHOLE.iter()
}

const fn brief(metric: &'static str, heading: &'static str, value: Value, divisor: f64, decimals: usize) -> Column {
    Column { metric, heading, value, divisor, decimals, place: Place::Brief }
}

const fn main(metric: &'static str, heading: &'static str, value: Value, divisor: f64, decimals: usize) -> Column {
    Column { metric, heading, value, divisor, decimals, place: Place::Main }
}

const fn detail(metric: &'static str, heading: &'static str, value: Value, divisor: f64, decimals: usize) -> Column {
    Column { metric, heading, value, divisor, decimals, place: Place::Detail }
}

#[cfg(test)]
mod tests {
    use quiclab_metrics::{RunMetrics, Summary};

    use super::*;

    #[test]
    fn every_metric_has_its_column() {
        let all: serde_json::Value = serde_json::from_str(&RunMetrics::empty().to_json()).unwrap();
        let names: BTreeSet<_> = all["metrics"].as_object().unwrap().keys().map(String::as_str).collect();
        let shown: BTreeSet<_> = COLUMNS.iter().map(|column| column.metric).collect();
        let [missing, unknown] = [names.difference(&shown), shown.difference(&names)].map(|it| it.collect::<Vec<_>>());
        assert!(missing.is_empty() && unknown.is_empty(), "without a column: {missing:?}; no metrics: {unknown:?}");
        assert_eq!(shown.len(), COLUMNS.len(), "a metric with two columns");
    }

    #[test]
    fn what_an_experiment_about_handshakes_asks_for_takes_the_place_of_trains() {
        let names = |asked: &[&'static str], client: bool| -> Vec<&str> {
            let has_values = |column: &Column| client || column.metric != FIRST_BYTE[0];
            brief_columns(&asked.iter().copied().collect(), has_values).iter().map(|column| column.metric).collect()
        };
        let usual = names(&[], true);
        assert!(usual.contains(&"train_max_packets") && !usual.contains(&FIRST_BYTE[0]));
        assert_eq!(names(&["goodput_wire_bps"], true), usual);
        assert_eq!(names(&[FIRST_BYTE[0]], true), [FIRST_BYTE[0], DROPS]);
        assert_eq!(names(&["handshake_client_probes"], false), [FIRST_BYTE[1], "handshake_client_probes", DROPS]);
        let asked = ["packets_lost", "handshake_server_complete_ns", DROPS];
        assert_eq!(names(&asked, true), [FIRST_BYTE[0], asked[1], asked[0], DROPS]);
    }

    #[test]
    fn a_cell_holds_mean_and_deviation_in_its_unit() {
        let goodput = COLUMNS.iter().find(|column| column.metric == "goodput_wire_bps").unwrap();
        // Mean 36, sample standard deviation sqrt((1 + 0 + 1) / 2) = 1.
        let summary = Summary::of([35e6, 36e6, 37e6]).unwrap();
        assert_eq!(goodput.cell(Some(&summary)), "36.00 \u{b1} 1.00");
        assert_eq!(goodput.cell(Summary::of([35e6]).as_ref()), "35.00");
        assert_eq!(goodput.cell(None), NOTHING);
        assert_eq!(goodput.published(Some(37.47e6)), "37.47");
        assert_eq!(goodput.published(None), NOTHING);
    }
}
