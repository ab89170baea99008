//! Many flows: findings of Aggarwal, Savage and Anderson, "Understanding the Performance of TCP Pacing" (INFOCOM 2000), and applications.

use quiclab_path::queue::{Limit, codel::CoDelSettings, pie::PieSettings, red::RedSettings};
use quiclab_sim::{
    measures,
    scenario::{Congestion, EVENTS_BETWEEN_QUESTIONS, Group, Outcome, Queue, Scenario, ScenarioError},
    simulation::Stopped,
    tcp::congestion::hystart::SlowStart,
    topology::Hop,
    workload::Workload,
};
use quiclab_units::{Duration, Rate, Time};

use crate::common::{PACKET, RATE, group, scenario};

fn delivered(outcome: &Outcome) -> &[u64] {
    &outcome.samples.last().unwrap().delivered
}

#[test]
fn at_unequal_round_trip_times_paced_flows_share_more_fairly_and_lose_less() {
    // After slow start, over six seeds: fairness of 0.86 to 0.89 paced and 0.56 to 0.71 not, 690 to 750 drops and 1280 to 1550.
    for seed in 1..=3 {
        let [plain, paced] = [false, true].map(|is_paced| {
            let groups = vec![
                group("100 ms", 25, is_paced, 5, Workload::Long),
                group("280 ms", 25, is_paced, 50, Workload::Long),
            ];
            let outcome = scenario(groups, 60, seed).run().unwrap();
            let fairness: Vec<f64> = outcome.samples[20..].iter().filter_map(|sample| sample.fairness_by_rtt).collect();
            let [early, late] = [19, 59].map(|second: usize| outcome.samples[second].hops[0].dropped);
            (fairness.iter().sum::<f64>() / fairness.len() as f64, late - early)
        });
        assert!(paced.0 > plain.0 + 0.1, "seed {seed}: fairness {} paced, {} not", paced.0, plain.0);
        assert!(paced.1 * 3 < plain.1 * 2, "seed {seed}: drops {} paced, {} not", paced.1, plain.1);
    }
}

#[test]
fn beside_each_other_plain_flows_get_more_than_paced_ones() {
    for seed in 1..=3 {
        let groups = vec![group("plain", 25, false, 5, Workload::Long), group("paced", 25, true, 5, Workload::Long)];
        let outcome = scenario(groups, 60, seed).run().unwrap();
        let &[plain, paced] = delivered(&outcome) else { panic!("two groups") };
        assert!(plain as f64 > 1.2 * paced as f64, "seed {seed}: {plain} plain, {paced} paced");
    }
}

/// Retransmissions are lost here too, so that timers expire while new segments are on their way: what is lost of these must count, or the window of
/// one flow grows until it has most of the link and half of all packets are dropped.
#[test]
fn no_flow_runs_away_after_timeouts() {
    for seed in 1..=3 {
        let mut cubic = group("cubic", 50, false, 5, Workload::Long);
        cubic.congestion = Congestion::Cubic { initial_window: 10.0, slow_start: SlowStart::standard(1.0) };
        cubic.sender.packet_bytes = 1500;
        cubic.begin_within = Duration::from_secs(1);
        let mut crowded = scenario(vec![cubic], 40, seed);
        crowded.hops[0].1 = Queue::DropTail(Limit::Packets(119));
        let outcome = crowded.run().unwrap();
        let most = outcome.flows.iter().map(|flow| flow.delivered).max().unwrap();
        let mean = delivered(&outcome)[0] / 50;
        assert!(most < 4 * mean, "seed {seed}: {most} of one flow, {mean} of the mean one");
        assert!(outcome.flows.iter().any(|flow| flow.counters.timeouts > 0), "seed {seed}: nothing was tried");
    }
}

/// However often it is looked at: events are counted across intervals.
#[test]
fn a_run_that_is_told_to_stop_stops() {
    let mut told = scenario(vec![group("reno", 50, false, 5, Workload::Long)], 1000, 1);
    let mut questions = 0;
    for interval in [Duration::from_millis(100), Duration::from_secs(1000)] {
        told.interval = interval;
        let outcome = told.run_while(&mut || {
            questions += 1;
            questions % 2 == 1
        });
        let outcome = outcome.unwrap();
        assert_eq!((outcome.stopped, outcome.events), (Stopped::Cancelled, 2 * EVENTS_BETWEEN_QUESTIONS));
    }
    assert_eq!(questions, 4);
}

/// Marks ask for the same as losses, without any.
#[test]
fn flows_that_understand_marks_have_the_throughput_of_others_and_no_losses() {
    // RFC 3168, section 6.1.
    for queue in ["red", "codel", "pie"] {
        let [plain, marked] = [false, true].map(|ecn| {
            let mut reno = group("reno", 10, false, 5, Workload::Long);
            reno.sender.ecn = ecn;
            let mut scenario = scenario(vec![reno], 30, 1);
            let limit = Limit::Packets(2000);
            scenario.warm_up = Duration::from_secs(10);
            scenario.hops[0].1 = match queue {
                "red" => {
                    let settings = RedSettings {
                        weight: 0.002,
                        least_threshold: 150.0,
                        most_threshold: 1500.0,
                        most_probability: 0.1,
                        is_gentle: false,
                        packet_time: Duration::from_nanos(u64::from(PACKET) * 8 * 1_000_000_000 / RATE),
                    };
                    Queue::Red(settings, limit)
                }
                "codel" => Queue::CoDel(CoDelSettings::default(), limit),
                _ => Queue::Pie(PieSettings::default(), limit),
            };
            let outcome = scenario.run().unwrap();
            measures::metrics(&scenario, &outcome)
        });
        assert!(plain["drops_packets"] > 10.0 && plain["marks_packets"] == 0.0, "{queue}: {plain:?}");
        assert!(marked["drops_packets"] == 0.0 && marked["marks_packets"] > 10.0, "{queue}: {marked:?}");
        let ratio = marked["goodput_bps"] / plain["goodput_bps"];
        assert!((0.97..1.06).contains(&ratio), "{queue}: {ratio}");
    }
}

/// One at a time on an idle path: 1, 2, 4 and 3 segments in four round-trip times.
#[test]
fn a_transfer_on_an_idle_path_takes_its_round_trips() {
    let workload = Workload::Transfers { segments: 10, think: Duration::from_millis(500), count: None };
    let outcome = scenario(vec![group("short", 1, false, 5, workload)], 60, 1).run().unwrap();
    let completions = &outcome.flows[0].completions;
    // A transfer and a pause take 0.9 s on average.
    assert!((45..=90).contains(&completions.len()), "{}", completions.len());
    for one in completions {
        let took = one.ended.checked_since(one.began).unwrap().as_secs_f64();
        assert!((0.400..0.404).contains(&took), "{took} s");
    }
    assert_eq!(outcome.flows[0].delivered, outcome.flows[0].counters.sent);
}

#[test]
fn a_source_that_is_on_half_the_time_sends_half_as_much() {
    // A window of one segment for each round-trip time, so that what is sent counts the time.
    let limited = |workload| {
        let mut group = group("limited", 200, false, 5, workload);
        group.sender.largest_window = 1.0;
        delivered(&scenario(vec![group], 60, 1).run().unwrap())[0] as f64
    };
    let second = Duration::from_secs(1);
    let share = limited(Workload::OnOff { on: second, off: second }) / limited(Workload::Long);
    // Each time it is switched on it sends at once, whatever the clock of its round trips.
    assert!((0.47..0.57).contains(&share), "{share}");
}

#[test]
fn arrivals_begin_when_they_are_due_or_when_the_one_before_has_ended() {
    let at = |milliseconds: u64| Time::from_nanos(milliseconds * 1_000_000);
    let workload = Workload::Arrivals { transfers: vec![(at(1000), 1), (at(1050), 1), (at(3000), 3)] };
    let outcome = scenario(vec![group("trace", 1, false, 5, workload)], 10, 1).run().unwrap();
    let completions = &outcome.flows[0].completions;
    assert_eq!(completions.len(), 3);
    assert_eq!(completions[0].began, at(1000));
    assert_eq!(completions[1].began, completions[0].ended);
    assert_eq!((completions[2].began, completions[2].segments), (at(3000), 3));
    assert_eq!(outcome.stopped, Stopped::Quiet);
}

/// Three links of which one flow crosses all and others one each: with the same round-trip time the long one, which is dropped at three places, gets least.
#[test]
fn in_a_parking_lot_the_flow_of_three_links_gets_least() {
    let mut lot = scenario(Vec::new(), 60, 1);
    let (hop, queue) = lot.hops[0];
    lot.hops = vec![(Hop { delay: Duration::from_millis(10), ..hop }, queue); 3];
    lot.groups = vec![Group { hops: 0..3, ..group("long", 10, false, 10, Workload::Long) }];
    for number in 0..3 {
        lot.groups.push(Group { hops: number..number + 1, ..group("short", 10, false, 20, Workload::Long) });
    }
    let outcome = lot.run().unwrap();
    let &[long, ref short @ ..] = delivered(&outcome) else { panic!("four groups") };
    assert!(short.iter().all(|short| *short as f64 > 1.2 * long as f64), "{long} over three links, {short:?} over one");
    // What crosses a link is what the two groups on it deliver, and every link is used.
    let last = outcome.samples.last().unwrap();
    for (hop, short) in last.hops.iter().zip(short) {
        let sum = (long + short) as f64;
        assert!((hop.forwarded as f64 / sum - 1.0).abs() < 0.02, "{} forwarded, {sum} arrived", hop.forwarded);
        assert!(sum > 0.85 * 60.0 * RATE as f64 / 8.0 / f64::from(PACKET), "{sum}");
    }
}

/// A way back at a fraction of the rate holds the sender up: nothing is lost, so slow start goes on, in which an acknowledgment lets two packets out.
#[test]
fn a_slow_way_back_limits_the_way_there() {
    let rate = |back_rate| {
        let mut one = scenario(vec![group("flow", 1, false, 5, Workload::Long)], 60, 1);
        one.hops[0].0.back_rate = Rate::from_bits_per_second(back_rate);
        let outcome = one.run().unwrap();
        let [early, late] = [29, 59].map(|second: usize| outcome.samples[second].delivered[0] as f64);
        (late - early) / 30.0
    };
    // 320 kbit/s are 1000 acknowledgments of 40 bytes a second.
    let slow = rate(320_000);
    assert!((slow / 2000.0 - 1.0).abs() < 0.02, "{slow} packets a second");
    assert!(rate(RATE) > 5_000.0);
}

#[test]
fn the_same_seed_gives_the_same_and_another_does_not() {
    let run = |seed| scenario(vec![group("flows", 10, true, 5, Workload::Long)], 10, seed).run().unwrap();
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn what_makes_no_sense_is_refused_and_what_does_not_end_is_ended() {
    let plain = |workload| group("flows", 1, false, 5, workload);
    let error = |scenario: &Scenario| scenario.run().unwrap_err();
    let good = scenario(vec![plain(Workload::Long)], 10, 1);
    assert_eq!(error(&Scenario { groups: Vec::new(), ..good.clone() }), ScenarioError::NoFlows);
    let many = Scenario { groups: vec![Group { flows: 10_000_000, ..plain(Workload::Long) }], ..good.clone() };
    assert_eq!(error(&many), ScenarioError::TooManyFlows { found: 10_000_000 });
    assert_eq!(error(&Scenario { interval: Duration::ZERO, ..good.clone() }), ScenarioError::NoInterval);
    let nothing = Workload::Transfers { segments: 0, think: Duration::ZERO, count: None };
    let nothing = Scenario { groups: vec![plain(nothing)], ..good.clone() };
    assert!(matches!(error(&nothing), ScenarioError::EmptyTransfer { .. }));
    let mut small = plain(Workload::Long);
    small.congestion = Congestion::Reno { initial_window: 0.5, slow_start: SlowStart::standard(1.0) };
    assert!(matches!(error(&Scenario { groups: vec![small], ..good.clone() }), ScenarioError::Window { .. }));
    let (hop, queue) = good.hops[0];
    let hops = vec![(Hop { rate: Rate::from_bits_per_second(0), ..hop }, queue)];
    assert!(matches!(error(&Scenario { hops, ..good.clone() }), ScenarioError::Rate(_)));
    let beyond = Scenario { groups: vec![Group { hops: 0..2, ..plain(Workload::Long) }], ..good.clone() };
    assert!(matches!(error(&beyond), ScenarioError::NoSuchHops { count: 1, .. }));
    let mut deaf = group("deaf", 1, false, 5, Workload::Long);
    deaf.congestion = Congestion::Bbr { initial_window: 10.0 };
    deaf.sender.ecn = true;
    let deaf = Scenario { groups: vec![deaf], ..good.clone() };
    assert_eq!(error(&deaf), ScenarioError::MarksIgnored { group: "deaf".to_owned() });
    let bounded = Scenario { budget: 1000, ..good.clone() }.run().unwrap();
    assert_eq!((bounded.stopped, bounded.events), (Stopped::Budget, 1000));
    // Without a delay and without a buffer it goes on, and ends in time.
    let none = Scenario {
        hops: vec![(Hop { delay: Duration::ZERO, ..hop }, Queue::DropTail(Limit::Packets(0)))],
        groups: vec![group("flows", 1, true, 0, Workload::Long)],
        ..good
    };
    assert_eq!(none.run().unwrap().stopped, Stopped::InTime);
}

/// The lists by which names in files are checked, what is measured, and the reference say the same.
#[test]
fn every_listed_metric_is_measured_and_documented_and_the_other_way_round() {
    let short = Workload::Transfers { segments: 50, think: Duration::from_millis(500), count: None };
    let groups = vec![
        group("long", 20, false, 5, Workload::Long),
        group("short", 5, false, 5, short.clone()),
        group("others", 5, false, 5, short),
    ];
    // Late ones would not end, and without their times there is no mean.
    let scenario = Scenario { transfers_begin_by: Some(Duration::from_secs(5)), ..scenario(groups, 10, 1) };
    let outcome = scenario.run().unwrap();
    let reference = include_str!("../../../../docs/reference/scenario-file.md");
    let metrics: Vec<String> = measures::metrics(&scenario, &outcome).into_keys().collect();
    let series: Vec<String> = measures::series(&scenario, &outcome).into_keys().collect();
    for (list, found) in [(measures::METRICS, metrics), (measures::SERIES, series)] {
        for name in &found {
            assert!(measures::is_named(list, ["long", "short", "others"], name), "{name} is not in the list");
        }
        for name in list {
            let own = name.replace("GROUP", "short");
            assert!(found.contains(&own), "{own} was not measured");
            assert!(reference.contains(&format!("`{name}`")) || *name == "time", "{name} is not in the reference");
        }
    }
}
