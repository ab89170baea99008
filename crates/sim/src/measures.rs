//! What is said of a scenario in numbers: one for each run, and one for each interval.

mod missing;

use std::collections::BTreeMap;

use quiclab_units::{Duration, Rate, Time};

use crate::{
    fairness::jain,
    scenario::{Outcome, Sample, Scenario},
};

pub use missing::{missing, names};

/// Metrics of a whole run, those of a group with its name behind a dot, such as `goodput_bps.paced`.
///
/// All but first losses, retransmissions and timeouts are of the time after the warm-up. A metric that could not be measured is missing. docs/reference/scenario-file.md says
/// what each means.
pub fn metrics(scenario: &Scenario, outcome: &Outcome) -> BTreeMap<String, f64> {
    let (warm_up, measured) = outcome.samples.split_at(outcome.warm_up_samples);
    let (before, Some(last)) = (warm_up.last(), measured.last()) else { return BTreeMap::new() };
    let from = before.map_or(Time::from_nanos(0), |sample| sample.time);
    let seconds = last.time.checked_since(from).unwrap_or_default().as_secs_f64();
    let mut all = BTreeMap::new();
    let mut put = |name: &str, value: Option<f64>| {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            all.insert(name.to_owned(), value);
        }
    };
    let bits: Vec<f64> = delivered_bits(scenario, last, before).collect();
    let sum: f64 = bits.iter().sum();
    put("goodput_bps", Some(sum / seconds));
    put("utilisation", Some(sum / seconds / bottleneck(scenario).as_bits_per_second() as f64));
    for (group, bits) in scenario.groups.iter().zip(&bits) {
        put(&format!("goodput_bps.{}", group.name), Some(bits / seconds));
        put(&format!("share.{}", group.name), (sum > 0.0).then(|| bits / sum));
    }
    let forwarded = |sample: &Sample| sample.hops.iter().map(|hop| hop.forwarded).sum::<u64>();
    let since = |count: &dyn Fn(&Sample) -> u64| (count(last) - before.map_or(0, count)) as f64;
    put("drops_packets", Some(since(&dropped)));
    put("drop_share", Some(since(&dropped) / (since(&dropped) + since(&forwarded))));
    put("marks_packets", Some(since(&marked)));
    put("queue_mean_packets", mean(measured.iter().map(|sample| sample.hops[0].queue_packets as f64)));
    put("fairness", jain(flow_shares(outcome, |_| 1.0)));
    put("fairness_by_rtt", jain(flow_shares(outcome, |rtt| rtt.as_secs_f64())));
    put("fairness_of_intervals", mean(measured.iter().filter_map(|sample| sample.fairness)));
    put("fairness_by_rtt_of_intervals", mean(measured.iter().filter_map(|sample| sample.fairness_by_rtt)));
    let first = outcome.flows.iter().filter_map(|flow| flow.first_loss).min_by_key(|loss| loss.time);
    put("first_loss_s", first.map(|loss| seconds_at(loss.time)));
    put("first_loss_window_segments", first.map(|loss| loss.window));
    for (name, number) in scenario.groups.iter().enumerate().map(|(number, group)| (&group.name, number)) {
        let flows = || outcome.flows.iter().filter(move |flow| flow.group == number);
        let losing = flows().filter_map(|flow| Some(seconds_at(flow.first_loss?.time)));
        put(&format!("first_loss_s.{name}"), losing.min_by(f64::total_cmp));
        let sent: u64 = flows().map(|flow| flow.counters.sent).sum();
        let again: u64 = flows().map(|flow| flow.counters.retransmitted).sum();
        put(&format!("retransmitted_share.{name}"), (sent > 0).then(|| again as f64 / sent as f64));
        put(&format!("timeouts.{name}"), Some(flows().map(|flow| flow.counters.timeouts as f64).sum()));
    }
    transfers(scenario, outcome, from, &mut put);
    all
}

/// Names of the series, those of a group with its name behind a dot, and their values: one for each interval, `None` where nothing could be measured.
pub fn series(scenario: &Scenario, outcome: &Outcome) -> BTreeMap<String, Vec<Option<f64>>> {
    let mut all: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    let mut before: Option<&Sample> = None;
    for sample in &outcome.samples {
        let from = before.map_or(Time::from_nanos(0), |sample| sample.time);
        let seconds = sample.time.checked_since(from).unwrap_or_default().as_secs_f64();
        let mut put = |name: String, value: Option<f64>| {
            all.entry(name).or_default().push(value.filter(|value| value.is_finite()));
        };
        let bits: Vec<f64> = delivered_bits(scenario, sample, before).collect();
        put("time".to_owned(), Some(seconds_at(sample.time)));
        put("goodput_bps".to_owned(), Some(bits.iter().sum::<f64>() / seconds));
        put("fairness".to_owned(), sample.fairness);
        put("fairness_by_rtt".to_owned(), sample.fairness_by_rtt);
        put("queue_packets".to_owned(), Some(sample.hops[0].queue_packets as f64));
        put("drops_packets".to_owned(), Some((dropped(sample) - before.map_or(0, dropped)) as f64));
        put("marks_packets".to_owned(), Some((marked(sample) - before.map_or(0, marked)) as f64));
        for ((group, bits), window) in scenario.groups.iter().zip(&bits).zip(&sample.windows) {
            put(format!("goodput_bps.{}", group.name), Some(bits / seconds));
            put(format!("window_segments.{}", group.name), Some(*window));
        }
        before = Some(sample);
    }
    all
}

/// What stands for metrics of a group in lists of names.
const GROUP: &str = "GROUP";

/// The names of all metrics, with `GROUP` where the name of a group stands.
pub const METRICS: &[&str] = &[
    "goodput_bps",
    "goodput_bps.GROUP",
    "utilisation",
    "share.GROUP",
    "drops_packets",
    "drop_share",
    "marks_packets",
    "queue_mean_packets",
    "fairness",
    "fairness_by_rtt",
    "fairness_of_intervals",
    "fairness_by_rtt_of_intervals",
    "first_loss_s",
    "first_loss_s.GROUP",
    "first_loss_window_segments",
    "retransmitted_share.GROUP",
    "timeouts.GROUP",
    "transfers.GROUP",
    "transfer_time_mean_s.GROUP",
    "transfer_time_over_ideal.GROUP",
];

/// The names of all series, in the same way.
pub const SERIES: &[&str] = &[
    "time",
    "goodput_bps",
    "goodput_bps.GROUP",
    "fairness",
    "fairness_by_rtt",
    "queue_packets",
    "drops_packets",
    "marks_packets",
    "window_segments.GROUP",
];

/// True for a name of this list, with one of these groups.
pub fn is_named<'a>(list: &[&str], groups: impl IntoIterator<Item = &'a str>, name: &str) -> bool {
    let base = |group: &str| name.strip_suffix(group)?.strip_suffix('.').map(|base| format!("{base}.{GROUP}"));
    list.contains(&name) && !name.ends_with(GROUP)
        || groups.into_iter().filter_map(base).any(|base| list.contains(&base.as_str()))
}

fn bottleneck(scenario: &Scenario) -> Rate {
    scenario.hops[0].0.rate
}

/// Packets dropped at all bottlenecks since the beginning.
fn dropped(sample: &Sample) -> u64 {
    sample.hops.iter().map(|hop| hop.dropped).sum()
}

/// Packets marked there.
fn marked(sample: &Sample) -> u64 {
    sample.hops.iter().map(|hop| hop.marked).sum()
}

fn seconds_at(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Of each group, the bits of packets that have arrived for the first time between two samples.
fn delivered_bits<'a>(
    scenario: &'a Scenario,
    last: &'a Sample,
    before: Option<&'a Sample>,
) -> impl Iterator<Item = f64> + 'a {
    scenario.groups.iter().enumerate().map(move |(number, group)| {
        let segments = last.delivered[number] - before.map_or(0, |sample| sample.delivered[number]);
        segments as f64 * f64::from(group.sender.packet_bytes) * 8.0
    })
}

/// What each flow has delivered after the warm-up, times a weight by its round-trip time.
fn flow_shares<'a>(outcome: &'a Outcome, weight: impl Fn(Duration) -> f64 + 'a) -> impl Iterator<Item = f64> + 'a {
    outcome.flows.iter().map(move |flow| (flow.delivered - flow.delivered_in_warm_up) as f64 * weight(flow.rtt))
}

fn transfers(scenario: &Scenario, outcome: &Outcome, from: Time, put: &mut impl FnMut(&str, Option<f64>)) {
    let flows: u32 = scenario.groups.iter().map(|group| group.flows).sum();
    for (number, group) in scenario.groups.iter().enumerate() {
        let of_group = outcome.flows.iter().filter(|flow| flow.group == number);
        let share = bottleneck(scenario).as_bits_per_second() as f64 / f64::from(flows);
        let initial_window = group.congestion.initial_window();
        let (mut times, mut ratios) = (Vec::new(), Vec::new());
        for flow in of_group {
            let fair_window = share * flow.rtt.as_secs_f64() / 8.0 / f64::from(group.sender.packet_bytes);
            for one in flow.completions.iter().filter(|one| one.began >= from) {
                let seconds = one.ended.checked_since(one.began).unwrap_or_default().as_secs_f64();
                times.push(seconds);
                ratios.push(
                    seconds / (ideal_round_trips(one.segments, initial_window, fair_window) * flow.rtt.as_secs_f64()),
                );
            }
        }
        let name = &group.name;
        if !times.is_empty() {
            put(&format!("transfers.{name}"), Some(times.len() as f64));
        }
        put(&format!("transfer_time_mean_s.{name}"), mean(times.into_iter()));
        put(&format!("transfer_time_over_ideal.{name}"), mean(ratios.into_iter()));
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
    fn names_of_groups_stand_behind_a_dot() {
        let is = |name| is_named(METRICS, ["paced", "plain"], name);
        assert!(is("goodput_bps") && is("goodput_bps.paced") && is("share.plain"));
        assert!(!is("share") && !is("share.other") && !is("share.GROUP") && !is("utilisation.paced"));
    }
}
