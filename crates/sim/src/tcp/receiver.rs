//! The receiver: what has arrived, and when to say so (RFC 5681, section 4.2; RFC 2018).

use quiclab_path::packet::Ecn;
use quiclab_units::{Duration, Time};

use crate::{
    endpoint::{Endpoint, Outbox},
    ranges::Ranges,
    segment::Segment,
};

/// How a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverSettings {
    /// Longest wait for a second segment; `None` acknowledges every segment at once.
    pub delayed_acknowledgment: Option<Duration>,
    /// Length of an acknowledgment in bytes.
    pub acknowledgment_bytes: u32,
}

impl Default for ReceiverSettings {
    fn default() -> Self {
        Self { delayed_acknowledgment: None, acknowledgment_bytes: 40 }
    }
}

/// Takes in segments and acknowledges them.
#[derive(Debug)]
pub struct Receiver {
    settings: ReceiverSettings,
    /// The first segment that has not arrived.
    next: u64,
    /// Later ones that have.
    later: Ranges,
    /// Begins of ranges, the one that grew last first.
    recent: Vec<u64>,
    /// What waits for a second segment: until when, and what is echoed.
    waiting: Option<(Time, Time, bool)>,
    /// Segments that came for the first time.
    arrived: u64,
    /// Segments that came again.
    duplicates: u64,
}

impl Receiver {
    /// Of nothing yet.
    pub fn new(settings: ReceiverSettings) -> Self {
        Self {
            settings,
            next: 0,
            later: Ranges::default(),
            recent: Vec::new(),
            waiting: None,
            arrived: 0,
            duplicates: 0,
        }
    }

    /// Segments that have arrived in order.
    pub fn in_order(&self) -> u64 {
        self.next
    }

    /// Segments that have arrived, in order or not.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Segments that came a second time.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// True where the segment came in order and left no gap behind.
    fn take(&mut self, sequence: u64) -> bool {
        let mut is_new = false;
        if sequence > self.next {
            let (begin, _) = self.later.insert(sequence, sequence + 1, |_, _| is_new = true);
            if is_new {
                // The range that grew comes first; one that it has swallowed began just behind.
                let swallowed = sequence + 1;
                self.recent.retain(|recent| *recent != begin && *recent != swallowed);
                self.recent.insert(0, begin);
            }
        } else if sequence == self.next {
            let had_gap = !self.later.is_empty();
            self.arrived += 1;
            self.next += 1;
            if let Some((begin, end)) = self.later.first().filter(|range| range.0 == self.next) {
                self.next = end;
                self.later.remove_below(end);
                self.recent.retain(|recent| *recent != begin);
            }
            return !had_gap;
        }
        self.arrived += u64::from(is_new);
        self.duplicates += u64::from(!is_new);
        false
    }

    fn acknowledge(&mut self, echo: Time, is_first: bool, outbox: &mut Outbox<Segment>) {
        self.waiting = None;
        let mut selective = [(0, 0); 3];
        let ranges = self.recent.iter().filter_map(|begin| self.later.beginning_at(*begin));
        for (slot, range) in selective.iter_mut().zip(ranges) {
            *slot = range;
        }
        outbox.send(
            self.settings.acknowledgment_bytes,
            Ecn::NotCapable,
            Segment::Acknowledgment { next: self.next, selective, echo, is_first },
        );
    }
}

impl Endpoint for Receiver {
    type Payload = Segment;

    fn handle_packet(&mut self, now: Time, segment: Segment, outbox: &mut Outbox<Segment>) {
        let Segment::Data { sequence, sent, is_retransmission } = segment else { return };
        let is_in_order = self.take(sequence);
        match (self.settings.delayed_acknowledgment, self.waiting) {
            // The first of two that are in order waits; its time is what is echoed (RFC 7323, section 4.3).
            (Some(delay), None) if is_in_order => self.waiting = Some((now + delay, sent, !is_retransmission)),
            (_, Some((_, echo, is_first))) => self.acknowledge(echo, is_first, outbox),
            _ => self.acknowledge(sent, !is_retransmission, outbox),
        }
    }

    fn handle_timeout(&mut self, now: Time, outbox: &mut Outbox<Segment>) {
        if let Some((until, echo, is_first)) = self.waiting
            && until <= now
        {
            self.acknowledge(echo, is_first, outbox);
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.waiting.map(|(until, ..)| until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(receiver: &mut Receiver, sequences: &[u64]) -> Vec<(u64, Vec<(u64, u64)>)> {
        let mut outbox = Outbox::default();
        for sequence in sequences {
            let segment = Segment::Data { sequence: *sequence, sent: Time::from_nanos(1), is_retransmission: false };
            receiver.handle_packet(Time::from_nanos(2), segment, &mut outbox);
        }
        outbox
            .packets
            .iter()
            .filter_map(|(_, _, segment)| match segment {
                Segment::Acknowledgment { next, selective, .. } => {
                    Some((*next, selective.iter().copied().filter(|range| range.1 > range.0).collect()))
                }
                Segment::Data { .. } => None,
            })
            .collect()
    }

    #[test]
    fn ranges_are_told_the_latest_first() {
        let mut receiver = Receiver::new(ReceiverSettings::default());
        let told = arrive(&mut receiver, &[0, 2, 4, 3, 8, 6, 6, 1, 5, 7]);
        let expected: [(u64, &[(u64, u64)]); 10] = [
            (1, &[]),
            (1, &[(2, 3)]),
            (1, &[(4, 5), (2, 3)]),
            (1, &[(2, 5)]),
            (1, &[(8, 9), (2, 5)]),
            (1, &[(6, 7), (8, 9), (2, 5)]),
            (1, &[(6, 7), (8, 9), (2, 5)]),
            (5, &[(6, 7), (8, 9)]),
            (7, &[(8, 9)]),
            (9, &[]),
        ];
        let expected: Vec<_> = expected.into_iter().map(|(next, ranges)| (next, ranges.to_vec())).collect();
        assert_eq!(told, expected);
        assert_eq!(receiver.duplicates(), 1);
    }

    #[test]
    fn the_second_of_two_is_acknowledged_and_a_gap_at_once() {
        let settings =
            ReceiverSettings { delayed_acknowledgment: Some(Duration::from_millis(40)), ..ReceiverSettings::default() };
        let mut receiver = Receiver::new(settings);
        assert_eq!(arrive(&mut receiver, &[0]), []);
        assert_eq!(receiver.next_timeout(), Some(Time::from_nanos(40_000_002)));
        assert_eq!(arrive(&mut receiver, &[1]), [(2, vec![])]);
        assert_eq!(arrive(&mut receiver, &[3]), [(2, vec![(3, 4)])]);
        assert_eq!(arrive(&mut receiver, &[2]), [(4, vec![])]);
        assert_eq!(arrive(&mut receiver, &[4]), []);
        let mut outbox = Outbox::default();
        receiver.handle_timeout(Time::from_nanos(40_000_001), &mut outbox);
        assert_eq!(outbox.packets.len(), 0);
        receiver.handle_timeout(Time::from_nanos(40_000_002), &mut outbox);
        assert_eq!(outbox.packets.len(), 1);
    }
}
