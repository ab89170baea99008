//! What is measured of a scenario, against closed forms and what the flows themselves have counted.

use std::collections::BTreeMap;

use quiclab_path::probability::Probability;
use quiclab_sim::{
    measures::{self, TransferCount},
    scenario::{Congestion, Outcome, Scenario},
    simulation::Stopped,
    tcp::congestion::hystart::SlowStart,
    workload::Workload,
};
use quiclab_units::{Duration, Time};

use crate::common::{PACKET, RATE, group, scenario};

fn at(milliseconds: u64) -> Time {
    Time::from_nanos(milliseconds * 1_000_000)
}

fn run(scenario: &Scenario) -> (Outcome, BTreeMap<String, f64>) {
    let outcome = scenario.run().unwrap();
    let metrics = measures::metrics(scenario, &outcome);
    (outcome, metrics)
}

fn assert_close(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found / expected - 1.0).abs() < tolerance, "{what}: {found}, expected {expected}");
}

/// Each second a transfer of 100 packets arrives at the idle bottleneck at four times its rate. Packet n comes after n/4 service times and leaves after n + 1, so that
/// all together are there for 100 + 3/4 x (0 + ... + 99) service times, and wait for 100 fewer.
#[test]
fn bursts_into_an_idle_link_have_the_same_mean_queue_whatever_the_delay() {
    let transfers = (0..20).map(|second| (at(1000 * second), 100)).collect();
    let service = f64::from(PACKET) * 8.0 / RATE as f64;
    for side_milliseconds in [0, 5, 150] {
        let mut bursts =
            group("bursts", 1, false, side_milliseconds, Workload::Arrivals { transfers: Vec::clone(&transfers) });
        bursts.congestion = Congestion::Reno { initial_window: 100.0, slow_start: SlowStart::standard(1.0) };
        bursts.begin_within = Duration::ZERO;
        let scenario = scenario(vec![bursts], 20, 1);
        let (outcome, metrics) = run(&scenario);
        let what = format!("{side_milliseconds} ms");
        let expected = (100.0 + 0.75 * 4950.0) * service;
        assert_close(metrics["queue_mean_packets"], expected, 1e-4, &what);
        for interval in &measures::series(&scenario, &outcome)["queue_packets"] {
            assert_close(interval.unwrap(), expected, 1e-4, &what);
        }
        assert_close(metrics["queue_delay_mean_s"], 0.75 * 49.5 * service, 1e-4, &what);
        assert_close(metrics["utilisation"], 100.0 * service, 1e-4, &what);
    }
}

/// Behind unequal delays more can arrive in a time than the link sends in it. Packets that come a second time count as use of the link.
#[test]
fn utilisation_is_the_time_in_which_the_link_sends() {
    let groups = vec![group("near", 10, false, 5, Workload::Long), group("far", 10, false, 50, Workload::Long)];
    let mut scenario = scenario(groups, 30, 1);
    scenario.interval = Duration::from_millis(100);
    scenario.warm_up = Duration::from_secs(10);
    let (outcome, metrics) = run(&scenario);
    let [before, last] = [99, 299].map(|sample: usize| outcome.samples[sample].hops[0].forwarded);
    let sent = (last - before) as f64 * f64::from(PACKET) * 8.0 / 20.0 / RATE as f64;
    assert!(metrics["utilisation"] <= 1.0 && metrics["utilisation"] > 0.8, "{metrics:?}");
    assert_close(metrics["utilisation"], sent, 1e-5, "packets that have left the link");
    for pair in outcome.samples.windows(2) {
        let busy = pair[1].hops[0].usage.busy - pair[0].hops[0].usage.busy;
        assert!(busy <= scenario.interval, "{busy} in {}", scenario.interval);
    }
}

#[test]
fn cumulative_fairness_is_of_all_that_was_delivered_since_the_warm_up() {
    let groups = vec![group("near", 5, false, 5, Workload::Long), group("far", 5, false, 50, Workload::Long)];
    let mut scenario = scenario(groups, 20, 1);
    scenario.warm_up = Duration::from_secs(5);
    let (outcome, metrics) = run(&scenario);
    let series = measures::series(&scenario, &outcome);
    for (name, metric) in [("fairness_cumulative", "fairness"), ("fairness_by_rtt_cumulative", "fairness_by_rtt")] {
        assert_eq!(series[name][..5], [None; 5], "{name}");
        // The first interval is all there is since the warm-up, and the last sums up the whole time.
        assert_eq!(series[name][5], series[metric][5], "{name}");
        assert_eq!(series[name][19], Some(metrics[metric]), "{name}");
        assert_ne!(series[name][19], series[metric][19], "{name}");
    }
}

#[test]
fn windows_are_given_as_sums_and_means() {
    let scenario =
        scenario(vec![group("few", 2, false, 5, Workload::Long), group("many", 6, false, 5, Workload::Long)], 5, 1);
    let series = measures::series(&scenario, &scenario.run().unwrap());
    for interval in 0..5 {
        let value = |name: &str| series.get(name).and_then(|values| values[interval]).unwrap();
        assert_eq!(value("window_sum_segments.few"), 2.0 * value("window_segments.few"));
        assert_close(value("window_sum_segments.many"), 6.0 * value("window_segments.many"), 1e-12, "many");
        let sum = value("window_sum_segments.few") + value("window_sum_segments.many");
        assert_close(value("window_sum_segments"), sum, 1e-12, "all");
    }
}

fn transfers(segments: u64, count: Option<u32>) -> Workload {
    Workload::Transfers { segments, think: Duration::from_millis(500), count }
}

#[test]
fn a_flow_stops_after_its_transfers_and_the_run_with_it() {
    let scenario = scenario(vec![group("short", 5, false, 5, transfers(10, Some(3)))], 1000, 1);
    let (outcome, metrics) = run(&scenario);
    assert!(outcome.flows.iter().all(|flow| flow.completions.len() == 3 && flow.unfinished.is_none()));
    assert_eq!((metrics["transfers.short"], metrics["transfers_unfinished.short"]), (15.0, 0.0));
    assert_eq!(outcome.stopped, Stopped::Quiet);
    let last = outcome.flows.iter().flat_map(|flow| &flow.completions).map(|one| one.ended).max().unwrap();
    let end = outcome.samples.last().unwrap().time;
    assert!(last <= end && end.checked_since(last).unwrap() <= scenario.interval, "{last:?}, {end:?}");
}

#[test]
fn a_run_that_is_quiet_in_the_warm_up_lasts_longer_than_that() {
    let mut scenario = scenario(vec![group("short", 1, false, 5, transfers(10, Some(1)))], 100, 1);
    scenario.warm_up = Duration::from_secs(20);
    let (outcome, metrics) = run(&scenario);
    assert_eq!(outcome.samples.len(), 21);
    assert_eq!(metrics["goodput_bps"], 0.0);
}

#[test]
fn only_transfers_count_that_begin_in_time() {
    let mut scenario = scenario(vec![group("short", 10, false, 5, transfers(50, None))], 30, 1);
    scenario.warm_up = Duration::from_secs(5);
    scenario.transfers_begin_by = Some(Duration::from_secs(20));
    let (outcome, metrics) = run(&scenario);
    let all = || outcome.flows.iter().flat_map(|flow| &flow.completions);
    let counted: Vec<f64> = all()
        .filter(|one| one.began >= at(5_000) && one.began < at(20_000))
        .map(|one| one.ended.checked_since(one.began).unwrap().as_secs_f64())
        .collect();
    assert!(all().count() > counted.len() + 20, "some began before and some after");
    assert_eq!(metrics["transfers.short"], counted.len() as f64);
    assert_eq!(metrics["transfers_unfinished.short"], 0.0);
    assert_close(
        metrics["transfer_time_mean_s.short"],
        counted.iter().sum::<f64>() / counted.len() as f64,
        1e-12,
        "mean",
    );
}

/// Twenty flows of which each is in the middle of a transfer at the end: of many short transfers they are few, of few long ones they are many.
#[test]
fn times_are_withheld_if_too_many_transfers_have_not_ended() {
    let of = |segments| {
        let scenario = scenario(vec![group("flows", 20, false, 5, transfers(segments, None))], 40, 1);
        let (outcome, metrics) = run(&scenario);
        let [(name, count)] = measures::transfer_counts(&scenario, &outcome)[..] else { panic!("one group") };
        assert_eq!(name, "flows");
        assert_eq!(count.unfinished as f64, metrics["transfers_unfinished.flows"]);
        let missing = measures::missing(["flows"].into_iter(), &metrics);
        let reason = missing.iter().find(|(_, names)| names.contains(&"transfer_time_mean_s.flows".to_owned()));
        (count, metrics.contains_key("transfer_time_over_ideal.flows"), reason.map(|(reason, _)| *reason))
    };
    let (count, has_times, reason) = of(10);
    assert!(count.unfinished > 0 && count.ended > 500 && !count.is_biased(), "{count:?}");
    assert_eq!((has_times, reason), (true, None));
    let (count, has_times, reason) = of(20_000);
    assert!(matches!(count, TransferCount { unfinished: 1.., ended: 1.. }) && count.is_biased(), "{count:?}");
    assert_eq!(
        (has_times, reason),
        (false, Some("more than 5 % of the group's transfers had not ended when the run ended"))
    );
}

/// At a probability p each flow has a window of some 1.22 / sqrt(p) segments (Mathis and others, "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", 1997: 1.22
/// where losses are periodic, 1.31 where they are random and every segment is acknowledged).
#[test]
fn random_loss_takes_its_share_of_the_packets_and_limits_the_window() {
    let probability = 0.002;
    let mut scenario = scenario(vec![group("flows", 10, false, 5, Workload::Long)], 300, 1);
    scenario.loss = Probability::try_from(probability).unwrap();
    // Slow start has losses of its own.
    scenario.warm_up = Duration::from_secs(50);
    let (_, metrics) = run(&scenario);
    assert_close(metrics["drop_share"], probability, 0.1, "drops");
    let per_flow = metrics["goodput_bps"] / f64::from(PACKET) / 8.0 / 10.0;
    let window = per_flow * 0.1;
    assert_close(window, 1.26 / probability.sqrt(), 0.08, "window");
}

#[test]
fn transfer_times_of_a_group_are_compared_with_those_of_all_other_groups() {
    let transfers = || Workload::Arrivals { transfers: vec![(at(0), 1), (at(2000), 1)] };
    let far = group("far", 3, false, 150, transfers());
    let (_, metrics) = run(&scenario(vec![far.clone()], 5, 1));
    assert_eq!(metrics.get("transfer_time_over_others.far"), None, "there is no other group");
    let others = [group("near", 1, false, 0, transfers()), group("middle", 3, false, 50, transfers())];
    let (_, metrics) = run(&scenario(Vec::from_iter(others.into_iter().chain([far])), 5, 1));
    let time = |name: &str| metrics[&format!("transfer_time_mean_s.{name}")];
    let expected = time("far") / ((time("near") + 3.0 * time("middle")) / 4.0);
    assert!(expected > 1.5, "{expected}");
    assert_close(metrics["transfer_time_over_others.far"], expected, 1e-12, "of far");
}

#[test]
fn the_sum_of_windows_counts_every_flow() {
    let mut idle = group("idle", 7, false, 5, Workload::Arrivals { transfers: Vec::new() });
    idle.congestion = Congestion::Reno { initial_window: 10.0, slow_start: SlowStart::standard(1.0) };
    let (_, metrics) = run(&scenario(vec![idle], 5, 1));
    assert_eq!(metrics["window_sum_mean_segments"], 70.0);
}
