//! Metrics over time: one row for each window of the same length.

use quiclab_units::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::packets::PacketMeter;
use crate::{metrics::Metrics, output::RunMetrics};

/// Number of windows that are listed at most. Others are left out, with a warning: the window is too short for the capture.
pub(crate) const MOST_WINDOWS: u64 = 100_000;

/// What happened in one span of time. Metrics that need more than times and lengths are null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Time from the first packet of the flow to the begin of the window, in ns.
    pub start_ns: u64,
    /// Metrics of the packets in the window. A gap counts where both its packets are in the window; `throughput_bps` is over the window's
    /// length; `bytes_in_flight_max`, `rtt_*`, `packets_retransmitted` and `packets_lost` are those of the window.
    pub metrics: Metrics,
}

/// Counters that grow over the flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Running {
    pub(crate) packets_retransmitted: Option<u64>,
    pub(crate) packets_lost: Option<u64>,
    pub(crate) bytes_in_flight: Option<u64>,
    pub(crate) smoothed_rtt_ns: Option<u64>,
}

/// The windows of one sender.
pub(crate) struct WindowMeter {
    length_ns: u64,
    train_threshold: Duration,
    origin: Option<Time>,
    index: u64,
    current: PacketMeter,
    at_start: Running,
    now: Running,
    most_in_flight: Option<u64>,
    rows: Vec<Window>,
    pub(crate) left_out: bool,
}

impl WindowMeter {
    pub(crate) fn new(length: Duration, train_threshold: Duration) -> Self {
        WindowMeter {
            length_ns: length.as_nanos().max(1),
            train_threshold,
            origin: None,
            index: 0,
            current: PacketMeter::new(train_threshold),
            at_start: Running::default(),
            now: Running::default(),
            most_in_flight: None,
            rows: Vec::new(),
            left_out: false,
        }
    }

    /// `running`: after the packet. `origin`: the flow's first packet.
    pub(crate) fn on_packet(
        &mut self,
        origin: Time,
        time: Time,
        frame_bytes: u32,
        payload_bytes: u32,
        running: Running,
    ) {
        let origin = *self.origin.get_or_insert(origin);
        let index = time.checked_since(origin).map_or(0, |since| since.as_nanos() / self.length_ns);
        while self.index < index && !self.left_out {
            self.close();
        }
        if self.left_out {
            return;
        }
        self.current.on_packet(time, frame_bytes, payload_bytes);
        self.now = running;
        self.most_in_flight = self.most_in_flight.max(running.bytes_in_flight);
    }

    fn close(&mut self) {
        let mut run = RunMetrics::empty();
        let meter = std::mem::replace(&mut self.current, PacketMeter::new(self.train_threshold));
        let packets = meter.packets();
        meter.finish(&mut run);
        let mut metrics = run.metrics;
        metrics.packets_sent = Some(packets);
        metrics.duration_ns = None;
        metrics.peak_to_mean_1ms = None;
        metrics.peak_to_mean_10ms = None;
        let bytes = metrics.bytes_sent.unwrap_or(0);
        metrics.bytes_sent = Some(bytes);
        metrics.throughput_bps = Some(bytes as f64 * 8.0 / (self.length_ns as f64 / 1e9));
        let grown = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before.unwrap_or(0)));
        metrics.packets_retransmitted = grown(self.now.packets_retransmitted, self.at_start.packets_retransmitted);
        metrics.packets_lost = grown(self.now.packets_lost, self.at_start.packets_lost);
        metrics.bytes_in_flight_max = self.most_in_flight;
        metrics.smoothed_rtt_ns = self.now.smoothed_rtt_ns;
        self.rows.push(Window { start_ns: self.index * self.length_ns, metrics });
        self.index += 1;
        self.at_start = self.now;
        self.most_in_flight = self.now.bytes_in_flight;
        self.left_out = self.index >= MOST_WINDOWS;
    }

    pub(crate) fn finish(mut self) -> (Vec<Window>, bool) {
        if self.origin.is_some() && !self.left_out {
            self.close();
            self.left_out = false;
        }
        (self.rows, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_is_in_one_window_and_empty_windows_are_rows() {
        let mut meter = WindowMeter::new(Duration::from_nanos(100), Duration::from_nanos(10));
        for time in [0_u64, 99, 100, 350] {
            meter.on_packet(Time::default(), Time::from_nanos(time), 10, 5, Running::default());
        }
        let (rows, left_out) = meter.finish();
        assert!(!left_out);
        let packets: Vec<_> = rows.iter().map(|row| (row.start_ns, row.metrics.packets_sent.unwrap())).collect();
        assert_eq!(packets, [(0, 2), (100, 1), (200, 0), (300, 1)]);
        // 20 bytes in 100 ns.
        assert_eq!(rows[0].metrics.throughput_bps, Some(1.6e9));
        assert_eq!(rows[2].metrics.throughput_bps, Some(0.0));
        assert_eq!(rows[2].metrics.gap_median_ns, None);
    }

    #[test]
    fn counters_are_those_of_the_window() {
        let mut meter = WindowMeter::new(Duration::from_nanos(100), Duration::from_nanos(10));
        for (time, lost) in [(0_u64, 0), (50, 2), (150, 5)] {
            let running = Running { packets_lost: Some(lost), ..Running::default() };
            meter.on_packet(Time::default(), Time::from_nanos(time), 10, 5, running);
        }
        let lost: Vec<_> = meter.finish().0.iter().map(|row| row.metrics.packets_lost).collect();
        assert_eq!(lost, [Some(2), Some(3)]);
    }

    #[test]
    fn too_many_windows_are_left_out_and_said_to_be() {
        let mut meter = WindowMeter::new(Duration::from_nanos(1), Duration::from_nanos(10));
        for time in [0_u64, MOST_WINDOWS + 5] {
            meter.on_packet(Time::default(), Time::from_nanos(time), 10, 5, Running::default());
        }
        let (rows, left_out) = meter.finish();
        assert!(left_out);
        assert_eq!(rows.len() as u64, MOST_WINDOWS);
    }
}
