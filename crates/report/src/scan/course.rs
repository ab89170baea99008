//! Answers by step of time.

use std::collections::BTreeMap;

use quiclab_metrics::FirstAnswer;

use super::{
    rows::{Key, Row},
    section::milliseconds,
};

/// What rows without a group are called.
pub(super) const NO_GROUP: &str = "no group";
const NANOSECONDS_PER_HOUR: u64 = 3_600_000_000_000;
/// Steps of time in hours: the first with which there are few enough.
const STEPS: [u64; 4] = [1, 24, 24 * 30, 24 * 365];
const MOST_STEPS: u64 = 1000;

/// What was seen from one place, by step of time.
#[derive(Default)]
pub(super) struct Course<'a> {
    /// Answers of all groups.
    pub answers: u64,
    pub by_group: BTreeMap<Key<'a>, Group>,
    /// Milliseconds from the request to an instant ACK, to the ServerHello behind it, and to both in one datagram.
    pub requests: [BTreeMap<u64, Vec<f64>>; 3],
}

/// Answers of a group of targets, by step of time.
#[derive(Default)]
pub(super) struct Group {
    /// Milliseconds from an instant ACK to the ServerHello.
    pub leads: BTreeMap<u64, Vec<f64>>,
    /// Answers with ACK and ServerHello in one datagram, and all that acknowledge.
    pub coalesced: BTreeMap<u64, [u64; 2]>,
}

/// Steps of time: what turns times into numbers of steps, and these into places on the axis.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    pub step_hours: u64,
    pub first_day: u64,
}

impl Clock {
    /// `None` where everything is within one step, so that there is no course.
    pub(super) fn of(rows: &[&Row]) -> Option<Self> {
        let hours = rows.iter().map(|row| row.time_ns / NANOSECONDS_PER_HOUR);
        let (first, last) = hours.clone().min().zip(hours.max())?;
        let step_hours = STEPS.into_iter().find(|step| (last - first) / step < MOST_STEPS).unwrap_or(STEPS[3]);
        let clock = Clock { step_hours, first_day: first / 24 };
        (clock.step_of_hour(first) < clock.step_of_hour(last)).then_some(clock)
    }

    fn step_of_hour(self, hour: u64) -> u64 {
        (hour - self.first_day * 24) / self.step_hours
    }

    pub(super) fn step(self, row: &Row) -> u64 {
        self.step_of_hour(row.time_ns / NANOSECONDS_PER_HOUR)
    }
}

impl<'a> Course<'a> {
    pub(super) fn add(&mut self, row: &Row, group: Key<'a>, step: u64) {
        self.answers += 1;
        let group = self.by_group.entry(group).or_default();
        let counts = group.coalesced.entry(step).or_default();
        counts[0] += u64::from(row.is_coalesced());
        counts[1] += 1;
        let is_instant = row.answer == Some(FirstAnswer::Instant);
        let lead = row.ack_to_hello_ns.filter(|_| is_instant).map(milliseconds);
        if let Some(lead) = lead {
            group.leads.entry(step).or_default().push(lead);
        }
        let rtt = row.first_rtt_ns.map(milliseconds);
        let times = [
            rtt.filter(|_| is_instant),
            rtt.zip(lead).map(|(rtt, lead)| rtt + lead),
            rtt.filter(|_| row.is_coalesced()),
        ];
        for (all, time) in self.requests.iter_mut().zip(times) {
            if let Some(time) = time {
                all.entry(step).or_default().push(time);
            }
        }
    }
}
