//! The columns of the phases of a transfer: `slow_start_*` and `steady_*`.

use super::column::{Column, MEGA, MICRO_OF_NANO, Place, count};

macro_rules! columns {
    ($($name:ident, $heading:literal, $divisor:expr, $decimals:literal $(, $count:ident)?;)*) => {
        /// What stands before each row of the table of phases: the metric without its phase, and its heading.
        pub(crate) const PHASED: &[(&str, &str)] = &[$((stringify!($name), $heading),)*];

        pub(super) const SLOW_START: [Column; PHASED.len()] =
            [$(columns!(@one slow_start, "slow_start_", "slow start: ", $name, $heading, $divisor, $decimals $(, $count)?),)*];

        pub(super) const STEADY: [Column; PHASED.len()] =
            [$(columns!(@one steady, "steady_", "after slow start: ", $name, $heading, $divisor, $decimals $(, $count)?),)*];
    };
    (@one $phase:ident, $prefix:literal, $words:literal, $name:ident, $heading:literal, $divisor:expr, $decimals:literal
        $(, $count:ident)?) => {
        Column {
            metric: concat!($prefix, stringify!($name)),
            heading: concat!($words, $heading),
            value: |metrics| columns!(@value metrics.$phase.$name $(, $count)?),
            divisor: $divisor,
            decimals: $decimals,
            place: Place::Phase,
        }
    };
    (@value $value:expr) => { $value };
    (@value $value:expr, $count:ident) => { $count($value) };
}

columns! {
    packets_sent, "packets sent", 1.0, 0, count;
    duration_ns, "first to last packet, s", 1e9, 3, count;
    throughput_bps, "throughput, Mbit/s", MEGA, 2;
    gap_median_ns, "median gap, \u{b5}s", MICRO_OF_NANO, 1, count;
    gap_share_below_100us, "gaps below 0.1 ms, share", 1.0, 3;
    gap_coefficient_of_variation, "gaps, standard deviation / mean", 1.0, 2;
    train_share_of_packets_1, "packets in trains of 1, share", 1.0, 3;
    train_share_of_packets_le_5, "packets in trains \u{2264} 5, share", 1.0, 4;
    train_share_of_trains_le_5, "trains \u{2264} 5, share of trains", 1.0, 4;
    train_max_packets, "longest train, packets", 1.0, 1, count;
    burst_max_bytes, "largest burst, bytes", 1.0, 0, count;
    burst_mean_bytes, "mean burst, bytes", 1.0, 0;
    peak_to_mean_1ms, "peak rate in 1 ms / mean", 1.0, 2;
    peak_to_mean_10ms, "peak rate in 10 ms / mean", 1.0, 2;
    burst_share_of_packets, "packets in trains > 5, share", 1.0, 4;
    burst_share_start_up, "of these: start-up", 1.0, 4;
    burst_share_recovery_end, "end of recovery", 1.0, 4;
    burst_share_late_timer, "late timer", 1.0, 4;
    burst_share_batch, "batch (GSO, sendmmsg, qdisc)", 1.0, 4;
    burst_share_application_pause, "application pause", 1.0, 4;
    burst_share_bucket, "full bucket of the pacer", 1.0, 4;
    burst_share_ack, "ACK", 1.0, 4;
    burst_share_unknown, "unknown", 1.0, 4;
}
