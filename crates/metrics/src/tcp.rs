//! What TCP's sequence and acknowledgment numbers say, RFC 9293. The tap stands at the sender, as in `recovery`.

use std::collections::VecDeque;

use quiclab_units::Time;
use quiclab_wire::TcpFlags;

use crate::output::RunMetrics;
use crate::transport::TransportMeter;

/// Segments whose RTT may still be measured.
const MOST_TIMED: usize = 1 << 16;

/// What a segment was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SegmentEffect {
    pub(crate) is_retransmission: bool,
}

/// The segments of one TCP sender with the acknowledgments of its peer.
#[derive(Default)]
pub(crate) struct TcpMeter {
    /// Sequence number of the first segment, minus 1: positions are counted from here.
    base: Option<u32>,
    /// Position behind the last byte sent, and the last acknowledged.
    highest_sent: u64,
    highest_acknowledged: u64,
    /// (position behind it, time) of segments that were sent once.
    timed: VecDeque<(u64, Time)>,
    pub(crate) transport: TransportMeter,
    acks: u64,
    segments: u64,
    retransmissions: u64,
    retransmitted_bytes: u64,
    data_bytes: u64,
    last_data: Option<(u64, u64, Time)>,
    duplicates: u64,
    /// Positions that the capture skipped, begin and end: lost before the tap and still to come, or missed by the capture.
    holes: VecDeque<(u64, u64)>,
    /// Bytes acknowledged that the capture does not have.
    bytes_missed: u64,
    /// Position behind the last byte that was acknowledged without having been captured.
    acknowledged_ahead: u64,
}

/// Holes remembered; more are counted as missed when the oldest must go.
const MOST_HOLES: usize = 1 << 12;

/// A copy of a segment this soon behind it is the same packet seen twice: no sender repeats itself so fast.
const COPY_NS: u64 = 1_000_000;

impl TcpMeter {
    /// A sequence number as the nearest position to what was sent last, RFC 9293 section 3.4.
    fn position(&self, sequence: u32) -> u64 {
        let base = self.base.unwrap_or(sequence);
        let near = self.highest_sent;
        let low = sequence.wrapping_sub(base);
        let distance = low.wrapping_sub(near as u32) as i32;
        near.saturating_add_signed(i64::from(distance))
    }

    pub(crate) fn bytes_in_flight(&self) -> u64 {
        self.highest_sent.saturating_sub(self.highest_acknowledged)
    }

    pub(crate) fn smoothed_rtt_ns(&self) -> Option<u64> {
        self.transport.rtt.smoothed_ns()
    }

    /// Segments that the tap saw twice.
    pub(crate) fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Bytes that the peer acknowledged and the capture does not have.
    pub(crate) fn bytes_missed(&self) -> u64 {
        self.bytes_missed + self.acknowledged_ahead.saturating_sub(self.highest_sent)
    }

    /// Data behind what was sent last leaves a hole; data before it may fill one.
    fn note_holes(&mut self, begin: u64, end: u64) {
        if begin > self.highest_sent {
            if self.holes.len() == MOST_HOLES {
                let oldest = self.holes.pop_front();
                self.bytes_missed += oldest.map_or(0, |(begin, end)| end - begin);
            }
            self.holes.push_back((self.highest_sent, begin));
        } else if !self.holes.is_empty() && begin < self.highest_sent {
            let filled = std::mem::take(&mut self.holes).into_iter();
            let rest = filled.flat_map(|(from, to)| [(from, to.min(begin)), (from.max(end), to)]);
            self.holes = rest.filter(|(from, to)| from < to).collect();
        }
    }

    /// Bytes of data, each counted once.
    pub(crate) fn data_bytes(&self) -> u64 {
        self.data_bytes
    }

    pub(crate) fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    pub(crate) fn has_acknowledged_data(&self) -> bool {
        self.transport.rtt.count() > 1
    }

    pub(crate) fn on_sent(
        &mut self,
        sequence: u32,
        flags: TcpFlags,
        payload: u32,
        time: Time,
        origin: Time,
    ) -> SegmentEffect {
        let mut effect = SegmentEffect::default();
        self.segments += 1;
        if self.base.is_none() {
            self.base = Some(sequence.wrapping_sub(1));
            self.highest_sent = 1;
            self.highest_acknowledged = 1;
            self.transport.begin(origin);
        }
        // SYN and FIN take a number each.
        let length = u64::from(payload) + u64::from(flags.syn) + u64::from(flags.fin);
        if length == 0 {
            return effect;
        }
        let begin = self.position(sequence);
        let end = begin + length;
        let is_copy = self.last_data.is_some_and(|(last_begin, last_end, last_time)| {
            (last_begin, last_end) == (begin, end)
                && time.checked_since(last_time).is_some_and(|gap| gap.as_nanos() < COPY_NS)
        });
        self.last_data = Some((begin, end, time));
        self.note_holes(begin, end);
        if is_copy {
            self.duplicates += 1;
            return effect;
        }
        let again = self.highest_sent.min(end).saturating_sub(begin);
        if again > 0 {
            effect.is_retransmission = true;
            self.retransmissions += 1;
            self.retransmitted_bytes += again;
            // Karn's algorithm, RFC 6298 section 3: nobody knows which of the two an acknowledgment is for.
            self.timed.retain(|(timed_end, _)| *timed_end <= begin || *timed_end > end);
            self.transport.marks.on_retransmission(time, end);
        }
        if end > self.highest_sent {
            if again == 0 && self.timed.len() < MOST_TIMED {
                self.timed.push_back((end, time));
            }
            self.data_bytes += (end - self.highest_sent.max(begin)).min(u64::from(payload));
            self.highest_sent = end;
        }
        self.transport.sequence.add(time, end);
        self.transport.flight.set(time, self.bytes_in_flight());
        effect
    }

    /// Gives the bytes that it acknowledges for the first time.
    pub(crate) fn on_acknowledgment(&mut self, acknowledgment: u32, time: Time) -> u64 {
        if self.base.is_none() {
            return 0;
        }
        let position = self.position(acknowledgment);
        // Beyond what the tap saw: segments are missing from the capture.
        if position > self.highest_sent {
            self.acknowledged_ahead = self.acknowledged_ahead.max(position);
        }
        if position <= self.highest_acknowledged || position > self.highest_sent {
            return 0;
        }
        while let Some((begin, end)) = self.holes.front().copied().filter(|(_, end)| *end <= position) {
            self.bytes_missed += end - begin;
            self.holes.pop_front();
        }
        self.transport.flight.begin();
        self.acks += 1;
        let freed = position - self.highest_acknowledged;
        self.highest_acknowledged = position;
        self.transport.flight.set(time, self.bytes_in_flight());
        let mut newest = None;
        while let Some((end, sent)) = self.timed.front().copied() {
            if end > position {
                break;
            }
            self.timed.pop_front();
            newest = Some(sent);
        }
        if let Some(rtt) = newest.and_then(|sent| time.checked_since(sent)) {
            self.transport.rtt.on_sample(time, rtt.as_nanos(), 0);
        }
        freed
    }

    pub(crate) fn finish(&mut self, run: &mut RunMetrics) {
        if self.segments == 0 {
            return;
        }
        let metrics = &mut run.metrics;
        metrics.packets_retransmitted = Some(self.retransmissions);
        metrics.retransmitted_bytes = Some(self.retransmitted_bytes);
        metrics.packets_duplicated = Some(self.duplicates);
        metrics.stream_bytes = Some(self.data_bytes);
        metrics.acks_received = Some(self.acks);
        self.transport.flight.finish(metrics);
        self.transport.rtt.finish(run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: TcpFlags = TcpFlags { syn: false, ack: true, fin: false, rst: false, psh: false };

    fn metrics_of(meter: &mut TcpMeter) -> crate::metrics::Metrics {
        let mut run = RunMetrics::empty();
        meter.finish(&mut run);
        run.metrics
    }

    #[test]
    fn sequence_numbers_that_wrap_go_on() {
        let mut meter = TcpMeter::default();
        let mut sequence = u32::MAX - 1_500;
        for step in 0..4 {
            meter.on_sent(sequence, DATA, 1_000, Time::from_nanos(step * 1_000_000), Time::default());
            sequence = sequence.wrapping_add(1_000);
        }
        assert_eq!((meter.data_bytes, meter.retransmissions), (4_000, 0));
        assert_eq!(meter.bytes_in_flight(), 4_000);
        assert_eq!(meter.on_acknowledgment(sequence, Time::from_nanos(9_000_000)), 4_000);
        assert_eq!(metrics_of(&mut meter).rtt_max_ns, Some(6_000_000));
        assert_eq!(meter.bytes_in_flight(), 0);
    }

    #[test]
    fn a_repeated_segment_is_a_retransmission_and_has_no_rtt() {
        let mut meter = TcpMeter::default();
        for (time_ms, sequence) in [(0, 100), (1, 200), (50, 100)] {
            meter.on_sent(sequence, DATA, 100, Time::from_nanos(time_ms * 1_000_000), Time::default());
        }
        assert_eq!((meter.retransmissions, meter.retransmitted_bytes), (1, 100));
        meter.on_acknowledgment(200, Time::from_nanos(90_000_000));
        assert_eq!(meter.transport.rtt.count(), 0);
        meter.on_acknowledgment(300, Time::from_nanos(91_000_000));
        assert_eq!(metrics_of(&mut meter).rtt_max_ns, Some(90_000_000));
    }

    #[test]
    fn bytes_that_were_acknowledged_and_never_captured_are_missed() {
        let mut meter = TcpMeter::default();
        let send = |meter: &mut TcpMeter, sequence: u32, time: u64| {
            meter.on_sent(sequence, DATA, 100, Time::from_nanos(time * 1_000_000), Time::default());
        };
        // 200 is skipped and comes later; 400 is skipped and never comes; 600 is acknowledged and not there yet.
        for (sequence, time) in [(100, 0), (300, 1), (200, 2), (500, 3)] {
            send(&mut meter, sequence, time);
        }
        assert_eq!(meter.bytes_missed(), 0);
        meter.on_acknowledgment(600, Time::from_nanos(9_000_000));
        assert_eq!(meter.bytes_missed(), 100);
        meter.on_acknowledgment(650, Time::from_nanos(10_000_000));
        assert_eq!(meter.bytes_missed(), 150);
    }

    #[test]
    fn a_copy_within_a_millisecond_is_the_tap_seeing_double() {
        let mut meter = TcpMeter::default();
        for time in [0, 999_999, 1_999_999] {
            meter.on_sent(100, DATA, 100, Time::from_nanos(time), Time::default());
        }
        assert_eq!((meter.duplicates, meter.retransmissions), (1, 1));
    }
}
