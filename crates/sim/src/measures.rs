//! What is said of a scenario in numbers: one for each run, and one for each interval.

mod missing;
mod transfers;

use std::collections::BTreeMap;

use quiclab_units::{Duration, Rate, Time};

use crate::{
    fairness::jain,
    scenario::{Outcome, Sample, Scenario},
};

pub use missing::{missing, names};
pub use transfers::{TransferCount, transfer_counts};

/// Metrics of a whole run, those of a group with its name behind a dot, such as `goodput_bps.paced`.
///
/// All but first losses, retransmissions and timeouts are of the time after the warm-up. A metric that could not be measured is missing. docs/reference/scenario-file.md says
/// what each means.
pub fn metrics(scenario: &Scenario, outcome: &Outcome) -> BTreeMap<String, f64> {
    let (warm_up, measured) = outcome.samples.split_at(outcome.warm_up_samples);
    let (before, Some(last)) = (warm_up.last(), measured.last()) else { return BTreeMap::new() };
    let from = measured_from(outcome);
    let span = last.time.checked_since(from).unwrap_or_default();
    let seconds = span.as_secs_f64();
    let mut all = BTreeMap::new();
    let mut put = |name: &str, value: Option<f64>| {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            all.insert(name.to_owned(), value);
        }
    };
    let bits: Vec<f64> = delivered_bits(scenario, last, before).collect();
    let sum: f64 = bits.iter().sum();
    put("goodput_bps", Some(sum / seconds));
    let used = Use::between(before, last);
    put("utilisation", Some(used.busy.as_secs_f64() / seconds));
    for (group, bits) in scenario.groups.iter().zip(&bits) {
        put(&format!("goodput_bps.{}", group.name), Some(bits / seconds));
        put(&format!("share.{}", group.name), (sum > 0.0).then(|| bits / sum));
    }
    let forwarded = |sample: &Sample| sample.hops.iter().map(|hop| hop.forwarded).sum::<u64>();
    let since = |count: &dyn Fn(&Sample) -> u64| (count(last) - before.map_or(0, count)) as f64;
    put("drops_packets", Some(since(&dropped)));
    put("drop_share", Some(since(&dropped) / (since(&dropped) + since(&forwarded))));
    put("marks_packets", Some(since(&marked)));
    put("queue_mean_packets", Some(used.mean_packets(span)));
    put("queue_delay_mean_s", used.mean_wait_seconds());
    put("window_sum_mean_segments", mean(measured.iter().map(|sample| sample.windows.iter().sum())));
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
    transfers::put_transfers(scenario, outcome, from, &mut put);
    all
}

/// Names of the series, those of a group with its name behind a dot, and their values: one for each interval, `None` where nothing could be measured.
pub fn series(scenario: &Scenario, outcome: &Outcome) -> BTreeMap<String, Vec<Option<f64>>> {
    let mut all: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    let mut before: Option<&Sample> = None;
    for sample in &outcome.samples {
        let from = before.map_or(Time::from_nanos(0), |sample| sample.time);
        let span = sample.time.checked_since(from).unwrap_or_default();
        let seconds = span.as_secs_f64();
        let mut put = |name: String, value: Option<f64>| {
            all.entry(name).or_default().push(value.filter(|value| value.is_finite()));
        };
        let bits: Vec<f64> = delivered_bits(scenario, sample, before).collect();
        put("time".to_owned(), Some(seconds_at(sample.time)));
        put("goodput_bps".to_owned(), Some(bits.iter().sum::<f64>() / seconds));
        put("fairness".to_owned(), sample.fairness);
        put("fairness_by_rtt".to_owned(), sample.fairness_by_rtt);
        put("fairness_cumulative".to_owned(), sample.fairness_cumulative);
        put("fairness_by_rtt_cumulative".to_owned(), sample.fairness_by_rtt_cumulative);
        put("window_sum_segments".to_owned(), Some(sample.windows.iter().sum()));
        put("queue_packets".to_owned(), Some(Use::between(before, sample).mean_packets(span)));
        put("drops_packets".to_owned(), Some((dropped(sample) - before.map_or(0, dropped)) as f64));
        put("marks_packets".to_owned(), Some((marked(sample) - before.map_or(0, marked)) as f64));
        for ((group, bits), window) in scenario.groups.iter().zip(&bits).zip(&sample.windows) {
            put(format!("goodput_bps.{}", group.name), Some(bits / seconds));
            put(format!("window_segments.{}", group.name), Some(window / f64::from(group.flows)));
            put(format!("window_sum_segments.{}", group.name), Some(*window));
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
    "queue_delay_mean_s",
    "window_sum_mean_segments",
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
    "transfer_time_over_others.GROUP",
    "transfers_unfinished.GROUP",
];

/// The names of all series, in the same way.
pub const SERIES: &[&str] = &[
    "time",
    "goodput_bps",
    "goodput_bps.GROUP",
    "fairness",
    "fairness_by_rtt",
    "fairness_cumulative",
    "fairness_by_rtt_cumulative",
    "queue_packets",
    "drops_packets",
    "marks_packets",
    "window_segments.GROUP",
    "window_sum_segments",
    "window_sum_segments.GROUP",
];

/// True for a name of this list, with one of these groups.
pub fn is_named<'a>(list: &[&str], groups: impl IntoIterator<Item = &'a str>, name: &str) -> bool {
    let base = |group: &str| name.strip_suffix(group)?.strip_suffix('.').map(|base| format!("{base}.{GROUP}"));
    list.contains(&name) && !name.ends_with(GROUP)
        || groups.into_iter().filter_map(base).any(|base| list.contains(&base.as_str()))
}

/// When the time begins that metrics cover.
fn measured_from(outcome: &Outcome) -> Time {
    let in_warm_up = &outcome.samples[..outcome.warm_up_samples];
    in_warm_up.last().map_or(Time::from_nanos(0), |sample| sample.time)
}

fn bottleneck(scenario: &Scenario) -> Rate {
    scenario.hops[0].0.rate
}

/// How the first bottleneck was used between two samples.
struct Use {
    busy: Duration,
    packet_nanos: u128,
    started: u64,
    waited_nanos: u128,
}

impl Use {
    fn between(before: Option<&Sample>, last: &Sample) -> Self {
        let [before, last] = [before.map(|sample| sample.hops[0].usage).unwrap_or_default(), last.hops[0].usage];
        Self {
            busy: last.busy - before.busy,
            packet_nanos: last.packet_nanos - before.packet_nanos,
            started: last.started - before.started,
            waited_nanos: last.waited_nanos - before.waited_nanos,
        }
    }

    /// Packets in the queue and on the link, mean over `span`, which is the time between the samples.
    fn mean_packets(&self, span: Duration) -> f64 {
        self.packet_nanos as f64 / span.as_nanos() as f64
    }

    /// Seconds that a packet waited until the link began to send it; `None` if it began to send none.
    fn mean_wait_seconds(&self) -> Option<f64> {
        (self.started > 0).then(|| self.waited_nanos as f64 / self.started as f64 / 1e9)
    }
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

/// Bits of the packets of each group that have arrived for the first time between two samples.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_groups_stand_behind_a_dot() {
        let is = |name| is_named(METRICS, ["paced", "plain"], name);
        assert!(is("goodput_bps") && is("goodput_bps.paced") && is("share.plain"));
        assert!(!is("share") && !is("share.other") && !is("share.GROUP") && !is("utilisation.paced"));
    }
}
