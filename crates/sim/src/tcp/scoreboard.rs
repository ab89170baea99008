//! Losses by selective acknowledgments (RFC 6675).

use std::collections::VecDeque;

use super::sender::{Answer, DUPLICATE_THRESHOLD};
use crate::ranges::Ranges;

/// What a sender with selective acknowledgments knows of each segment.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    /// The first segment that is not acknowledged in order.
    acknowledged: u64,
    /// Of each segment from there on.
    segments: VecDeque<State>,
    arrived: Ranges,
    /// Segments that have arrived out of order.
    arrived_count: u64,
    /// Segments that are lost and were not sent again.
    lost_count: u64,
    /// The highest that have arrived, in descending order: a segment below the last is lost (`IsLost`, section 4).
    top: [Option<u64>; DUPLICATE_THRESHOLD as usize],
    /// Below it every segment was looked at.
    judged: u64,
    /// No lost segment that was not sent again is below it.
    first_lost: u64,
    /// `RecoveryPoint`; losses below it belong to the recovery that goes on.
    recovery_point: Option<u64>,
    /// Whether it was begun by the timer: the window grows from one segment then, and a loss below the point is none of another window either.
    is_after_timeout: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// On its way.
    Sent,
    /// It has arrived.
    Arrived,
    /// It was lost.
    Lost,
}

impl Scoreboard {
    /// From segment `first` on.
    pub(crate) fn new(first: u64) -> Self {
        Self { acknowledged: first, judged: first, first_lost: first, ..Self::default() }
    }

    /// `pipe` (section 4).
    pub(crate) fn in_flight(&self) -> u64 {
        self.segments.len() as u64 - self.arrived_count - self.lost_count
    }

    /// The first that was lost and not sent again (`NextSeg`, section 4, rule 1).
    pub(crate) fn lost(&self) -> Option<u64> {
        (self.lost_count > 0).then_some(self.first_lost)
    }

    pub(crate) fn on_sent(&mut self, sequence: u64) {
        let place = (sequence - self.acknowledged) as usize;
        if place == self.segments.len() {
            self.segments.push_back(State::Sent);
            return;
        }
        if self.segments[place] == State::Lost {
            self.segments[place] = State::Sent;
            self.lost_count -= 1;
            self.find_first_lost();
        }
    }

    pub(crate) fn on_acknowledgment(&mut self, next: u64, selective: &[(u64, u64)], highest: u64) -> Answer {
        let mut newly = 0;
        while self.acknowledged < next {
            match self.segments.pop_front() {
                Some(State::Arrived) => self.arrived_count -= 1,
                Some(State::Lost) => {
                    self.lost_count -= 1;
                    newly += 1;
                }
                Some(State::Sent) => newly += 1,
                None => break,
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
        let is_loss = self.judge();
        if self.lost_count > 0 {
            self.find_first_lost();
        }
        if self.recovery_point.is_some_and(|point| self.acknowledged >= point) {
            self.recovery_point = None;
        }
        let is_new_loss = is_loss && self.recovery_point.is_none();
        if is_new_loss {
            self.recovery_point = Some(highest);
            self.is_after_timeout = false;
        }
        let is_recovering = self.recovery_point.is_some() && !self.is_after_timeout;
        Answer { newly, is_new_loss, is_recovering, retransmit: None }
    }

    /// Nothing that was sent is on its way any more; what has arrived is still believed to have.
    pub(crate) fn on_timeout(&mut self, highest: u64) {
        self.lost_count = 0;
        for state in &mut self.segments {
            if *state != State::Arrived {
                *state = State::Lost;
                self.lost_count += 1;
            }
        }
        self.judged = highest;
        self.first_lost = self.acknowledged;
        self.recovery_point = Some(highest);
        self.is_after_timeout = true;
        if self.lost_count > 0 {
            self.find_first_lost();
        }
    }

    /// Books `begin..end` as arrived; gives how many of them are new.
    fn take(&mut self, begin: u64, end: u64) -> u64 {
        let Self { acknowledged, segments, arrived, arrived_count, lost_count, top, .. } = self;
        let mut newly = 0;
        arrived.insert(begin, end, |from, to| {
            for sequence in from..to {
                let state = &mut segments[(sequence - *acknowledged) as usize];
                if *state == State::Lost {
                    *lost_count -= 1;
                }
                *state = State::Arrived;
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

    /// Finds what is lost by now; true where there is more than before.
    fn judge(&mut self) -> bool {
        let bound = self.top[self.top.len() - 1].unwrap_or(0);
        let mut is_loss = false;
        self.judged = self.judged.max(self.acknowledged);
        while self.judged < bound {
            let state = &mut self.segments[(self.judged - self.acknowledged) as usize];
            if *state == State::Sent {
                *state = State::Lost;
                self.lost_count += 1;
                self.first_lost = self.first_lost.min(self.judged);
                is_loss = true;
            }
            self.judged += 1;
        }
        is_loss
    }

    fn find_first_lost(&mut self) {
        self.first_lost = self.first_lost.max(self.acknowledged);
        while self.lost_count > 0 && self.segments[(self.first_lost - self.acknowledged) as usize] != State::Lost {
            self.first_lost += 1;
        }
    }
}
