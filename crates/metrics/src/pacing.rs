//! The metrics that describe pacing, once more for each phase of a transfer: `slow_start_*` and `steady_*`.

use crate::{
    entries::{Number, UnfitEntry, measured, number},
    metrics::Metrics,
};

macro_rules! pacing_metrics {
    ($($(#[$attribute:meta])* $name:ident: $kind:ty,)*) => {
        /// Pacing in one phase of a transfer. In `metrics.json` its fields stand beside the others, with the name of the
        /// phase in front: `slow_start_gap_median_ns`, `steady_gap_median_ns`. Each has the definition and unit of the metric
        /// of the same name in [`Metrics`], taken over the packets of the phase; `None` where that one would be, and
        /// where the phase is not known or does not exist.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct PacingMetrics {
            $($(#[$attribute])* pub $name: Option<$kind>,)*
        }

        impl PacingMetrics {
            /// Names without the phase, in the order of `metrics.json`.
            pub const NAMES: &[&str] = &[$(stringify!($name),)*];

            /// The fields of the same names.
            pub(crate) fn of(metrics: &Metrics) -> Self {
                PacingMetrics { $($name: metrics.$name,)* }
            }

            /// Adds name and number of each, with the names of a phase.
            pub(crate) fn push_entries(
                &self,
                names: &[&'static str],
                entries: &mut Vec<(&'static str, Option<Number>)>,
            ) {
                let numbers = [$(number(self.$name),)*];
                entries.extend(names.iter().copied().zip(numbers));
            }

            /// The number of the metric `name`, which is without the phase.
            pub(crate) fn number(&self, name: &str) -> Option<Option<Number>> {
                match name {
                    $(stringify!($name) => Some(number(self.$name)),)*
                    _ => None,
                }
            }

            /// Sets the metric `name`, which is without the phase; `whole` has it.
            pub(crate) fn set(&mut self, whole: &str, name: &str, to: Option<Number>) -> Result<(), UnfitEntry> {
                match name {
                    $(stringify!($name) => self.$name = measured(whole, to)?,)*
                    _ => return Err(UnfitEntry::UnknownName { name: whole.to_owned() }),
                }
                Ok(())
            }
        }

        /// Names in `metrics.json` while the sender is in slow start.
        pub(crate) const SLOW_START: &[&str] = &[$(concat!("slow_start_", stringify!($name)),)*];
        /// Names in `metrics.json` after it.
        pub(crate) const STEADY: &[&str] = &[$(concat!("steady_", stringify!($name)),)*];
    };
}

pacing_metrics! {
    /// Packets sent in this phase.
    packets_sent: u64,
    /// Time from the first to the last packet of this phase, in ns.
    duration_ns: u64,
    /// Bits of their frames over that time, in bit/s.
    throughput_bps: f64,
    /// Median time between two of them that follow each other.
    gap_median_ns: u64,
    /// Share of gaps strictly below 0.1 ms, 0 to 1.
    gap_share_below_100us: f64,
    /// Standard deviation of the gaps divided by their mean.
    gap_coefficient_of_variation: f64,
    /// Share of packets that are a train of their own, 0 to 1.
    train_share_of_packets_1: f64,
    /// Share of packets in trains of at most 5 packets, 0 to 1.
    train_share_of_packets_le_5: f64,
    /// Share of trains that have at most 5 packets, 0 to 1.
    train_share_of_trains_le_5: f64,
    /// Length of the longest train.
    train_max_packets: u64,
    /// Bytes of frames in the train that has most.
    burst_max_bytes: u64,
    /// Mean bytes of frames in a train.
    burst_mean_bytes: f64,
    /// Highest rate over any 1 ms, divided by the mean rate of the phase.
    peak_to_mean_1ms: f64,
    /// The same over 10 ms.
    peak_to_mean_10ms: f64,
    /// Share of packets in trains of more than 5 packets, 0 to 1.
    burst_share_of_packets: f64,
    /// Share of those packets in trains before anything was acknowledged, 0 to 1. The shares of the causes add up to 1.
    burst_share_start_up: f64,
    /// Share of bursty packets in trains behind an ACK that ended a recovery, 0 to 1.
    burst_share_recovery_end: f64,
    /// Share of bursty packets in trains that were planned to be spread, 0 to 1.
    burst_share_late_timer: f64,
    /// Share of bursty packets in trains that were handed over together, 0 to 1.
    burst_share_batch: f64,
    /// Share of bursty packets in trains after the application had had nothing to send, 0 to 1.
    burst_share_application_pause: f64,
    /// Share of bursty packets in trains that emptied the pacer's full bucket, 0 to 1.
    burst_share_bucket: f64,
    /// Share of bursty packets in trains behind ACKs that freed so much window, 0 to 1.
    burst_share_ack: f64,
    /// Share of bursty packets in trains without a known cause, 0 to 1.
    burst_share_unknown: f64,
}

/// A phase of a transfer.
pub(crate) enum Phase {
    /// Up to the end of slow start.
    SlowStart,
    /// The time behind the end of slow start.
    Steady,
}

/// The phase in front of a name, and the rest of it.
pub(crate) fn phase_of(name: &str) -> Option<(Phase, &str)> {
    let slow_start = || Some((Phase::SlowStart, name.strip_prefix("slow_start_")?));
    slow_start().or_else(|| Some((Phase::Steady, name.strip_prefix("steady_")?)))
}

/// Whether a metric is that of one phase.
pub(crate) fn is_of_phase(metric: &str) -> bool {
    [SLOW_START, STEADY].iter().any(|names| names.contains(&metric))
}

#[cfg(test)]
mod tests {
    use crate::{metrics::Metrics, output::RunMetrics};

    #[test]
    fn a_phase_survives_json_and_is_found_by_name() {
        let mut run = RunMetrics::empty();
        run.metrics.gap_median_ns = Some(1);
        run.metrics.slow_start.gap_median_ns = Some(u64::MAX);
        run.metrics.steady.gap_median_ns = Some(3);
        run.metrics.steady.burst_share_unknown = Some(0.1 + 0.2);
        let back = RunMetrics::from_json(&run.to_json()).unwrap();
        assert_eq!(back, run);
        assert_eq!(back.metrics.value("steady_gap_median_ns"), Some(Some(3.0)));
        assert_eq!(back.metrics.value("slow_start_throughput_bps"), Some(None));
        assert_eq!(back.metrics.value("steady_goodput_wire_bps"), None);
    }

    #[test]
    fn every_field_has_its_own_name_in_both_phases() {
        let mut metrics = Metrics::default();
        metrics.slow_start.packets_sent = Some(1);
        metrics.slow_start.burst_share_bucket = Some(0.25);
        metrics.steady.packets_sent = Some(2);
        for (name, value) in
            [("slow_start_packets_sent", 1.0), ("slow_start_burst_share_bucket", 0.25), ("steady_packets_sent", 2.0)]
        {
            assert_eq!(metrics.value(name), Some(Some(value)), "{name}");
        }
    }

    #[test]
    fn an_unknown_metric_of_a_phase_is_refused_by_name() {
        let text = RunMetrics::empty().to_json().replace("steady_packets_sent", "steady_packets_set");
        let error = RunMetrics::from_json(&text).unwrap_err().to_string();
        assert!(error.contains("steady_packets_set"), "{error}");
    }
}
