//! The receiver: what has arrived, and when to say so (RFC 5681, section 4.2; RFC 2018).

use std::collections::{BTreeSet, VecDeque};

use quiclab_path::packet::Ecn;
use quiclab_units::{Duration, Time};

use super::ecn::Echo;
use crate::{
    endpoint::{Endpoint, Outbox},
    ranges::Ranges,
    segment::Segment,
};

/// How far from the front a range is looked for that grows again.
const NEAR: usize = 8;
/// How many entries may be stale, besides as many as there are ranges.
const MOST_STALE: usize = 32;

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
    /// Begins of ranges, the one that grew last first. Some may have been swallowed or acknowledged since, or stand a second time further
    /// behind: a flow that has lost much has hundreds, which cannot all be looked at for each segment.
    recent: VecDeque<u64>,
    /// What waits for a second segment: until when, and what is echoed.
    waiting: Option<(Time, Time, bool)>,
    echo: Echo,
    /// Segments that came for the first time.
    arrived: u64,
    /// Segments that came again.
    duplicates: u64,
}

impl Receiver {
    /// Makes a receiver to which nothing has come yet.
    pub fn new(settings: ReceiverSettings) -> Self {
        Self {
            settings,
            next: 0,
            later: Ranges::default(),
            recent: VecDeque::new(),
            waiting: None,
            echo: Echo::default(),
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
                self.remember(begin);
            }
        } else if sequence == self.next {
            let had_gap = !self.later.is_empty();
            self.arrived += 1;
            self.next += 1;
            if let Some((_, end)) = self.later.first().filter(|range| range.0 == self.next) {
                self.next = end;
                self.later.remove_below(end);
                self.forget_stale();
            }
            return !had_gap;
        }
        self.arrived += u64::from(is_new);
        self.duplicates += u64::from(!is_new);
        false
    }

    /// The range that begins there has grown.
    fn remember(&mut self, begin: u64) {
        if let Some(place) = self.recent.iter().take(NEAR).position(|recent| *recent == begin) {
            self.recent.remove(place);
        }
        self.recent.push_front(begin);
        self.forget_stale();
    }

    /// Tidies the list of ranges, when more of it may be stale than not.
    fn forget_stale(&mut self) {
        if self.recent.len() <= MOST_STALE + 2 * self.later.len() {
            return;
        }
        let mut known = BTreeSet::new();
        let later = &self.later;
        self.recent.retain(|begin| later.beginning_at(*begin).is_some() && known.insert(*begin));
    }

    fn acknowledge(&mut self, echo: Time, is_first: bool, outbox: &mut Outbox<Segment>) {
        self.waiting = None;
        let mut selective = [(0, 0); 3];
        let mut count = 0;
        for range in self.recent.iter().filter_map(|begin| self.later.beginning_at(*begin)) {
            if count == selective.len() {
                break;
            }
            if !selective[..count].contains(&range) {
                selective[count] = range;
                count += 1;
            }
        }
        outbox.send(
            self.settings.acknowledgment_bytes,
            Ecn::NotCapable,
            Segment::Acknowledgment { next: self.next, selective, echo, is_first, is_marked: self.echo.is_set() },
        );
    }
}

impl Endpoint for Receiver {
    type Payload = Segment;

    fn handle_packet(&mut self, now: Time, ecn: Ecn, segment: Segment, outbox: &mut Outbox<Segment>) {
        let Segment::Data { sequence, sent, is_retransmission, has_reduced } = segment else { return };
        self.echo.on_arrived(ecn, has_reduced);
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
    use proptest::prelude::*;

    use super::*;

    fn arrive(receiver: &mut Receiver, sequences: &[u64]) -> Vec<(u64, Vec<(u64, u64)>)> {
        let mut outbox = Outbox::default();
        for sequence in sequences {
            let segment = Segment::Data {
                sequence: *sequence,
                sent: Time::from_nanos(1),
                is_retransmission: false,
                has_reduced: false,
            };
            receiver.handle_packet(Time::from_nanos(2), Ecn::NotCapable, segment, &mut outbox);
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

    /// RFC 2018, section 4, word by word: the first block is that of the segment that has just arrived, the others are those most recently
    /// reported, each once.
    fn literally(sequences: &[u64]) -> Vec<Vec<(u64, u64)>> {
        let mut arrived = BTreeSet::new();
        let mut order: Vec<u64> = Vec::new();
        let mut told = Vec::new();
        for sequence in sequences {
            let next = |arrived: &BTreeSet<u64>| (0..).find(|number| !arrived.contains(number)).unwrap_or(0);
            if arrived.insert(*sequence) && *sequence > next(&arrived) {
                order.insert(0, *sequence);
            }
            let first = next(&arrived);
            let block = |number: u64| {
                let begin = (first..=number).rev().take_while(|number| arrived.contains(number)).last();
                let end = (number..).find(|number| !arrived.contains(number));
                begin.zip(end).filter(|_| number > first)
            };
            let mut blocks = Vec::new();
            for found in order.iter().filter_map(|number| block(*number)) {
                if blocks.len() < 3 && !blocks.contains(&found) {
                    blocks.push(found);
                }
            }
            told.push(blocks);
        }
        told
    }

    proptest! {
        #[test]
        fn blocks_are_those_of_the_rfc(sequences in prop::collection::vec(0_u64..400, 0..500)) {
            let mut receiver = Receiver::new(ReceiverSettings::default());
            let told: Vec<_> = arrive(&mut receiver, &sequences).into_iter().map(|(_, blocks)| blocks).collect();
            prop_assert_eq!(told, literally(&sequences));
        }
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
