//! How long transfers take.

use quiclab_units::Time;

use super::{bottleneck, mean};
use crate::{
    scenario::{Outcome, Scenario},
    workload::Workload,
};

/// Transfers that have not ended are those that take long. If they are more than this share, the mean of the others says little.
const MOST_UNFINISHED: f64 = 0.05;

/// How many transfers of a group count: those that began after the warm-up and before [`Scenario::transfers_begin_by`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferCount {
    /// Transfers that had ended when the run ended.
    pub ended: u64,
    /// Transfers that had not.
    pub unfinished: u64,
}

impl TransferCount {
    /// Whether so many had not ended that the times of the others are not given.
    pub fn is_biased(self) -> bool {
        is_biased(self.ended as f64, self.unfinished as f64)
    }
}

pub(super) fn is_biased(ended: f64, unfinished: f64) -> bool {
    unfinished > MOST_UNFINISHED * (ended + unfinished)
}

/// The transfers of each group that sends transfers, with its name, in the order of the groups.
pub fn transfer_counts<'a>(scenario: &'a Scenario, outcome: &Outcome) -> Vec<(&'a str, TransferCount)> {
    let from = super::measured_from(outcome);
    let groups = scenario.groups.iter().enumerate().filter(|(_, group)| sends_transfers(&group.workload));
    groups.map(|(number, group)| (group.name.as_str(), count(scenario, outcome, from, number))).collect()
}

fn count(scenario: &Scenario, outcome: &Outcome, from: Time, number: usize) -> TransferCount {
    let flows = || outcome.flows.iter().filter(|flow| flow.group == number);
    let ended = flows().flat_map(|flow| &flow.completions).filter(|one| counts(scenario, from, one.began));
    let unfinished = flows().filter_map(|flow| flow.unfinished).filter(|began| counts(scenario, from, *began));
    TransferCount { ended: ended.count() as u64, unfinished: unfinished.count() as u64 }
}

fn sends_transfers(workload: &Workload) -> bool {
    matches!(workload, Workload::Transfers { .. } | Workload::Arrivals { .. })
}

/// Whether a transfer that began then counts.
fn counts(scenario: &Scenario, from: Time, began: Time) -> bool {
    began >= from && scenario.transfers_begin_by.is_none_or(|until| began < Time::from_nanos(0) + until)
}

pub(super) fn put_transfers(
    scenario: &Scenario,
    outcome: &Outcome,
    from: Time,
    put: &mut impl FnMut(&str, Option<f64>),
) {
    let flows: u32 = scenario.groups.iter().map(|group| group.flows).sum();
    let mut all_times: Vec<(&str, Vec<f64>)> = Vec::new();
    let mut is_any_biased = false;
    for (number, group) in scenario.groups.iter().enumerate() {
        if !sends_transfers(&group.workload) {
            continue;
        }
        let of_group = outcome.flows.iter().filter(|flow| flow.group == number);
        let share = bottleneck(scenario).as_bits_per_second() as f64 / f64::from(flows);
        let initial_window = group.congestion.initial_window();
        let (mut times, mut ratios) = (Vec::new(), Vec::new());
        for flow in of_group {
            let rtt = flow.rtt.as_secs_f64();
            let fair_window = share * rtt / 8.0 / f64::from(group.sender.packet_bytes);
            for one in flow.completions.iter().filter(|one| counts(scenario, from, one.began)) {
                let seconds = one.ended.checked_since(one.began).unwrap_or_default().as_secs_f64();
                times.push(seconds);
                ratios.push(seconds / (ideal_round_trips(one.segments, initial_window, fair_window) * rtt));
            }
        }
        let (name, counted) = (&group.name, count(scenario, outcome, from, number));
        put(&format!("transfers.{name}"), (counted.ended > 0).then_some(counted.ended as f64));
        put(&format!("transfers_unfinished.{name}"), Some(counted.unfinished as f64));
        if !counted.is_biased() {
            put(&format!("transfer_time_mean_s.{name}"), mean(times.iter().copied()));
            put(&format!("transfer_time_over_ideal.{name}"), mean(ratios.into_iter()));
        }
        is_any_biased |= counted.is_biased();
        all_times.push((name, times));
    }
    if !is_any_biased {
        for (name, times) in &all_times {
            let others = all_times.iter().filter(|(other, _)| other != name).flat_map(|(_, times)| times);
            let ratio = mean(times.iter().copied()).zip(mean(others.copied()));
            put(&format!("transfer_time_over_others.{name}"), ratio.map(|(own, others)| own / others));
        }
    }
}

/// Round-trip times that a transfer takes whose window doubles each time until it is a fair share, and then stays, without queues and losses.
fn ideal_round_trips(segments: u64, initial_window: f64, fair_window: f64) -> f64 {
    let (mut left, mut window, mut rounds) = (segments as f64, initial_window, 0.0);
    while left > window && window < fair_window {
        left -= window;
        rounds += 1.0;
        window *= 2.0;
    }
    if left <= window {
        return rounds + 1.0;
    }
    // The last of a steady stream is a round-trip time behind its sending, and needs its own share of one before.
    rounds + left / fair_window.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ideal_transfer_doubles_its_window_up_to_its_share() {
        // 1 + 2 + 4 + 3.
        assert_eq!(ideal_round_trips(10, 1.0, 100.0), 4.0);
        assert_eq!(ideal_round_trips(1, 1.0, 100.0), 1.0);
        // 1 + 2 + 4, and 93 at 8 for each round trip.
        assert_eq!(ideal_round_trips(100, 1.0, 8.0), 3.0 + 93.0 / 8.0);
    }

    #[test]
    fn one_unfinished_transfer_of_twenty_is_accepted_and_one_of_nineteen_is_not() {
        assert!(!TransferCount { ended: 19, unfinished: 1 }.is_biased());
        assert!(TransferCount { ended: 18, unfinished: 1 }.is_biased());
        assert!(!TransferCount { ended: 0, unfinished: 0 }.is_biased());
    }
}
