//! `packets_sent`, `bytes_sent`, `duration_ns`, `throughput_bps`, and all that follows from times and lengths alone.

use quiclab_units::{Duration, Time};

use crate::gaps::{Gap, GapMeter};
use crate::output::RunMetrics;
use crate::peaks::PeakMeter;
use crate::trains::TrainMeter;

const SHORT_WINDOW_NS: u64 = 1_000_000;
const LONG_WINDOW_NS: u64 = 10_000_000;

/// The packets of one sender.
#[derive(Clone)]
pub(crate) struct PacketMeter {
    packets: u64,
    frame_bytes: u64,
    payload_bytes: u64,
    first: Option<Time>,
    last: Time,
    gaps: GapMeter,
    trains: TrainMeter,
    peaks: [PeakMeter; 2],
}

impl PacketMeter {
    pub(crate) fn new(train_threshold: Duration) -> Self {
        PacketMeter {
            packets: 0,
            frame_bytes: 0,
            payload_bytes: 0,
            first: None,
            last: Time::default(),
            gaps: GapMeter::default(),
            trains: TrainMeter::new(train_threshold.as_nanos()),
            peaks: [SHORT_WINDOW_NS, LONG_WINDOW_NS].map(PeakMeter::new),
        }
    }

    /// Gives the gap before the packet, and whether it begins a train.
    pub(crate) fn on_packet(&mut self, time: Time, frame_bytes: u32, payload_bytes: u32) -> (Gap, bool) {
        self.packets += 1;
        self.frame_bytes += u64::from(frame_bytes);
        self.payload_bytes += u64::from(payload_bytes);
        self.first.get_or_insert(time);
        self.last = time;
        for peak in &mut self.peaks {
            peak.on_packet(time, frame_bytes);
        }
        let gap = self.gaps.on_packet(time);
        (gap, self.trains.on_packet(gap, u64::from(frame_bytes)))
    }

    /// Their gaps.
    pub(crate) fn gaps(&self) -> &GapMeter {
        &self.gaps
    }

    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    pub(crate) fn finish(self, run: &mut RunMetrics) {
        let Some(first) = self.first else {
            return;
        };
        let duration_ns = self.last.checked_since(first).map(Duration::as_nanos);
        let metrics = &mut run.metrics;
        metrics.packets_sent = Some(self.packets);
        metrics.bytes_sent = Some(self.frame_bytes);
        metrics.payload_bytes_sent = Some(self.payload_bytes);
        metrics.duration_ns = duration_ns;
        if let Some(duration_ns) = duration_ns.filter(|duration| *duration > 0) {
            metrics.throughput_bps = Some(self.frame_bytes as f64 * 8.0 / (duration_ns as f64 / 1e9));
            let [short, long] = &self.peaks;
            metrics.peak_to_mean_1ms = short.peak_to_mean(self.frame_bytes, duration_ns);
            metrics.peak_to_mean_10ms = long.peak_to_mean(self.frame_bytes, duration_ns);
        }
        self.gaps.finish(self.packets, run);
        self.trains.finish(run);
    }
}
