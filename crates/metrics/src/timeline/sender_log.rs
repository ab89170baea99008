//! The sender's own log beside the capture: its congestion window and its pacing rate.

use std::collections::BTreeMap;

use quiclab_units::Time;
use quiclab_wire::{QlogEvent, QlogEventKind, QlogSpace};

use super::TIMELINE_POINTS;
use crate::series::{Series, SeriesPoint};

/// Packets of the log that are looked for in the capture.
const MOST_LOGGED: usize = 4_000;

/// What a sender logged, in the time of the capture.
#[derive(Clone, Debug, Default)]
pub struct SenderLog {
    /// Congestion window, in bytes.
    pub congestion_window: Vec<SeriesPoint>,
    /// Pacing rate, in bit/s.
    pub pacing_rate_bps: Vec<SeriesPoint>,
    /// Packets by which the log was brought to the time of the capture. 0: none was found, and the log's first value stands at
    /// time 0.
    pub aligned_by: usize,
}

/// Feed it the events of one log.
pub struct SenderLogMeter {
    first_ns: Option<i64>,
    congestion_window: Series,
    pacing_rate_bps: Series,
    sent: BTreeMap<u64, u64>,
    values: u64,
}

impl Default for SenderLogMeter {
    fn default() -> Self {
        let series = || {
            let mut series = Series::default();
            series.want(TIMELINE_POINTS);
            series.begin(Time::from_nanos(0));
            series
        };
        SenderLogMeter {
            first_ns: None,
            congestion_window: series(),
            pacing_rate_bps: series(),
            sent: BTreeMap::new(),
            values: 0,
        }
    }
}

impl SenderLogMeter {
    /// The next event. Only those of the file's first trace count.
    pub fn on_event(&mut self, event: &QlogEvent) {
        if event.trace != 0 {
            return;
        }
        let first = *self.first_ns.get_or_insert(event.time_ns);
        let since = u64::try_from(event.time_ns.saturating_sub(first)).unwrap_or(0);
        match &event.kind {
            QlogEventKind::Metrics(metrics) => {
                if let Some(bytes) = metrics.congestion_window_bytes {
                    self.values += 1;
                    self.congestion_window.add(Time::from_nanos(since), bytes);
                }
                if let Some(rate) = metrics.pacing_rate_bps {
                    self.values += 1;
                    self.pacing_rate_bps.add(Time::from_nanos(since), rate);
                }
            }
            QlogEventKind::PacketSent(packet) if packet.space == Some(QlogSpace::OneRtt) => {
                if let Some(number) = packet.packet_number
                    && self.sent.len() < MOST_LOGGED
                {
                    self.sent.entry(number).or_insert(since);
                }
            }
            _ => {}
        }
    }

    /// Windows and rates so far.
    pub fn values(&self) -> u64 {
        self.values
    }

    /// `seen`: when the tap saw the sender's 1-RTT packets, by number; see [`Timeline::numbers`](super::Timeline::numbers).
    pub fn finish(self, seen: &BTreeMap<u64, u64>) -> SenderLog {
        let mut shifts: Vec<i64> = self
            .sent
            .iter()
            .filter_map(|(number, logged)| Some(i64::try_from(*seen.get(number)?).ok()? - i64::try_from(*logged).ok()?))
            .collect();
        shifts.sort_unstable();
        let shift = shifts.get(shifts.len() / 2).copied().unwrap_or(0);
        let shifted = |series: Series| {
            let mut points = series.into_points();
            for point in &mut points {
                point.time_ns = point.time_ns.saturating_add_signed(shift);
            }
            points
        };
        SenderLog {
            congestion_window: shifted(self.congestion_window),
            pacing_rate_bps: shifted(self.pacing_rate_bps),
            aligned_by: shifts.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use quiclab_wire::{QlogMetrics, QlogPacket};

    use super::*;

    fn sent(time_ns: i64, number: u64) -> QlogEvent {
        let packet =
            QlogPacket { space: Some(QlogSpace::OneRtt), packet_number: Some(number), ..QlogPacket::default() };
        QlogEvent { trace: 0, time_ns, kind: QlogEventKind::PacketSent(packet) }
    }

    fn window(time_ns: i64, bytes: u64) -> QlogEvent {
        let metrics = QlogMetrics { congestion_window_bytes: Some(bytes), ..QlogMetrics::default() };
        QlogEvent { trace: 0, time_ns, kind: QlogEventKind::Metrics(metrics) }
    }

    #[test]
    fn a_log_is_brought_to_the_time_of_the_capture_by_its_packets() {
        let mut meter = SenderLogMeter::default();
        // The log's clock begins at 5 s; its packets are at the tap 1 ms after it wrote them, one of them late.
        for event in [
            sent(5_000_000_000, 0),
            window(5_010_000_000, 12_000),
            sent(5_020_000_000, 1),
            sent(5_030_000_000, 2),
            window(5_040_000_000, 24_000),
        ] {
            meter.on_event(&event);
        }
        assert_eq!(meter.values(), 2);
        let seen = BTreeMap::from([(0, 101_000_000), (1, 121_000_000), (2, 139_000_000), (9, 7)]);
        let log = meter.finish(&seen);
        assert_eq!(log.aligned_by, 3);
        let points: Vec<_> = log.congestion_window.iter().map(|point| (point.time_ns, point.last)).collect();
        assert_eq!(points, [(111_000_000, 12_000), (141_000_000, 24_000)]);
        assert!(log.pacing_rate_bps.is_empty());
    }

    #[test]
    fn a_log_whose_packets_are_not_in_the_capture_says_so() {
        let mut meter = SenderLogMeter::default();
        meter.on_event(&window(5, 12_000));
        let log = meter.finish(&BTreeMap::new());
        assert_eq!((log.aligned_by, log.congestion_window[0].time_ns), (0, 0));
    }
}
