//! Losses by selective acknowledgments (RFC 6675).

use std::collections::VecDeque;

use quiclab_units::{Duration, Time};

use super::{
    delivery::{Delivery, LostSegment, RateSample, Stamp},
    sender::{Answer, DUPLICATE_THRESHOLD},
};
use crate::ranges::Ranges;

/// What a sender with selective acknowledgments knows of each segment.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    /// The first segment that is not acknowledged in order.
    acknowledged: u64,
    /// What is known of each segment from `acknowledged` on.
    segments: VecDeque<Tracked>,
    delivery: Delivery,
    /// Segments taken for lost of which the controller has not been told.
    newly_lost: Vec<LostSegment>,
    arrived: Ranges,
    /// Segments that have arrived out of order.
    arrived_count: u64,
    /// Segments that are lost and were not sent again.
    lost_count: u64,
    /// The highest that have arrived, in descending order: a segment below the last is lost (`IsLost`, RFC 6675, section 4).
    top: [Option<u64>; DUPLICATE_THRESHOLD as usize],
    /// Below it every segment was looked at.
    judged: u64,
    /// No lost segment that was not sent again is below it.
    first_lost: u64,
    /// `RecoveryPoint`; losses below it belong to the recovery that goes on.
    recovery_point: Option<u64>,
    /// Whether it was begun by the timer: the window grows from one segment then, and a loss below the point is none of another window either.
    is_after_timeout: bool,
    /// A recovery has begun and its first retransmission, which leaves whatever the window, has not (section 5, step 4.3).
    owes_retransmission: bool,
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
struct Tracked {
    state: State,
    /// Stamp of when it was sent last.
    stamp: Stamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is on its way.
    Sent,
    /// It has arrived.
    Arrived,
    /// It was lost.
    Lost,
}

impl Scoreboard {
    /// Makes a scoreboard of the segments from `first` on.
    pub(crate) fn new(first: u64) -> Self {
        Self { acknowledged: first, judged: first, first_lost: first, ..Self::default() }
    }

    /// `pipe` (section 4).
    pub(crate) fn in_flight(&self) -> u64 {
        self.segments.len() as u64 - self.arrived_count - self.lost_count
    }

    /// The first that was lost and not sent again (`NextSeg`, RFC 6675, section 4, rule 1).
    pub(crate) fn lost(&self) -> Option<u64> {
        (self.lost_count > 0).then_some(self.first_lost)
    }

    /// Whether the first lost segment is to be sent again even if the window is full.
    pub(crate) fn owes_retransmission(&self) -> bool {
        self.owes_retransmission && self.lost_count > 0
    }

    pub(crate) fn on_sent(&mut self, sequence: u64, now: Time) {
        let place = (sequence - self.acknowledged) as usize;
        let is_retransmission = place < self.segments.len();
        let stamp = self.delivery.on_sent(now, self.segments.is_empty(), self.in_flight() + 1, is_retransmission);
        if place == self.segments.len() {
            self.segments.push_back(Tracked { state: State::Sent, stamp });
            return;
        }
        if self.segments[place].state == State::Lost {
            self.segments[place] = Tracked { state: State::Sent, stamp };
            self.lost_count -= 1;
            self.owes_retransmission = false;
            self.find_first_lost();
        }
    }

    /// The application has nothing more to send, or the controller keeps the window small on purpose.
    pub(crate) fn on_nothing_to_send(&mut self) {
        self.delivery.on_nothing_to_send(self.in_flight());
    }

    /// Nothing is in flight because the application had nothing to send (draft-ietf-ccwg-bbr-06, section 5.4.1).
    pub(crate) fn is_idle(&self) -> bool {
        self.delivery.is_limited_by_application() && self.in_flight() == 0
    }

    /// Takes out the segments that were taken for lost since the last call.
    pub(crate) fn newly_lost(&mut self) -> impl Iterator<Item = LostSegment> {
        self.newly_lost.drain(..)
    }

    /// How fast segments arrive, after an acknowledgment.
    pub(crate) fn rate_sample(&mut self, now: Time, least_rtt: Option<Duration>) -> Option<RateSample> {
        self.delivery.sample(now, least_rtt)
    }

    pub(crate) fn on_acknowledgment(&mut self, now: Time, next: u64, selective: &[(u64, u64)], highest: u64) -> Answer {
        let mut newly = 0;
        while self.acknowledged < next {
            let Some(tracked) = self.segments.pop_front() else { break };
            match tracked.state {
                State::Arrived => self.arrived_count -= 1,
                State::Lost => self.lost_count -= 1,
                State::Sent => {}
            }
            if tracked.state != State::Arrived {
                newly += 1;
                self.delivery.on_arrived(tracked.stamp);
            }
            self.acknowledged += 1;
        }
        self.arrived.remove_below(self.acknowledged);
        for (begin, end) in selective.iter().filter(|(begin, end)| begin < end) {
            let (begin, end) = ((*begin).max(self.acknowledged), (*end).min(highest));
            if begin < end {
                newly += self.take(begin, end);
            }
        }
        let (lost, last_lost) = self.judge(now);
        if self.lost_count > 0 {
            self.find_first_lost();
        }
        if self.recovery_point.is_some_and(|point| self.acknowledged >= point) {
            self.recovery_point = None;
        }
        // What was sent behind the point belongs to another window, for which the congestion window shrinks again (RFC 5681, section 4.3). RFC 6675
        // would wait until the point is acknowledged, and after a timeout the window would grow all that time, whatever is lost.
        let is_new_loss = lost > 0 && self.recovery_point.is_none_or(|point| last_lost >= point);
        if is_new_loss {
            self.owes_retransmission = self.recovery_point.is_none();
            self.recovery_point = Some(highest);
            self.is_after_timeout = false;
        }
        let is_repairing = self.recovery_point.is_some();
        let is_recovering = is_repairing && !self.is_after_timeout;
        Answer { newly, lost, is_new_loss, is_recovering, is_repairing, retransmit: None, keeps_timer: false }
    }

    /// Nothing that was sent is on its way any more; what has arrived is still believed to have.
    pub(crate) fn on_timeout(&mut self, now: Time, highest: u64) {
        self.lost_count = 0;
        for (sequence, tracked) in (self.acknowledged..).zip(&mut self.segments) {
            if tracked.state == State::Sent {
                self.newly_lost.push(self.delivery.on_lost(now, sequence, tracked.stamp));
            }
            if tracked.state != State::Arrived {
                tracked.state = State::Lost;
                self.lost_count += 1;
            }
        }
        self.judged = highest;
        self.first_lost = self.acknowledged;
        self.recovery_point = Some(highest);
        self.is_after_timeout = true;
        self.owes_retransmission = false;
        if self.lost_count > 0 {
            self.find_first_lost();
        }
    }

    /// Books `begin..end` as arrived; gives how many of them are new.
    fn take(&mut self, begin: u64, end: u64) -> u64 {
        let Self { acknowledged, segments, delivery, arrived, arrived_count, lost_count, top, .. } = self;
        let mut newly = 0;
        arrived.insert(begin, end, |from, to| {
            for sequence in from..to {
                let tracked = &mut segments[(sequence - *acknowledged) as usize];
                if tracked.state == State::Lost {
                    *lost_count -= 1;
                }
                tracked.state = State::Arrived;
                delivery.on_arrived(tracked.stamp);
                *arrived_count += 1;
                newly += 1;
                let mut rising = Some(sequence);
                for place in top.iter_mut() {
                    if rising > *place {
                        std::mem::swap(&mut rising, place);
                    }
                }
            }
        });
        newly
    }

    /// Finds what is lost by now; gives how many segments more than before, and the last of them.
    fn judge(&mut self, now: Time) -> (u64, u64) {
        let bound = self.top[self.top.len() - 1].unwrap_or(0);
        let (mut lost, mut last) = (0, 0);
        self.judged = self.judged.max(self.acknowledged);
        while self.judged < bound {
            let tracked = &mut self.segments[(self.judged - self.acknowledged) as usize];
            if tracked.state == State::Sent {
                tracked.state = State::Lost;
                self.newly_lost.push(self.delivery.on_lost(now, self.judged, tracked.stamp));
                self.lost_count += 1;
                self.first_lost = self.first_lost.min(self.judged);
                lost += 1;
                last = self.judged;
            }
            self.judged += 1;
        }
        (lost, last)
    }

    fn find_first_lost(&mut self) {
        self.first_lost = self.first_lost.max(self.acknowledged);
        while self.lost_count > 0 && self.segments[(self.first_lost - self.acknowledged) as usize].state != State::Lost
        {
            self.first_lost += 1;
        }
    }
}
