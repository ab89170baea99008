//! Two sets of runs with known numbers: what is shown, what is decided, what is not.

use std::collections::BTreeMap;

use crate::common::{failure, side};
use quiclab_metrics::{BurstCause, Withheld};
use quiclab_report::{
    Change, Comparison, ConditionOutcome, Question, ReportInput, SeenTrain, ShownTrain, Tone, TrainDifference,
    render_comparison_html, render_comparison_markdown, render_comparison_terminal, settings_key,
};

const QUIET: [f64; 5] = [36.9e6, 37.0e6, 37.1e6, 37.2e6, 37.3e6];

fn question(conditions: &[&str]) -> Question {
    let conditions = conditions.iter().map(|text| text.parse().unwrap()).collect();
    Question {
        names: ["main".to_owned(), "pr".to_owned()],
        conditions,
        metrics: Vec::new(),
        alpha: 0.05,
        not_judged: BTreeMap::new(),
        command: "quiclab ab main pr".to_owned(),
    }
}

fn compared(one: &ReportInput, other: &ReportInput, conditions: &[&str]) -> Comparison {
    Comparison::of(one, other, [&settings_key, &settings_key], &question(conditions)).unwrap()
}

fn shifted(values: &[f64], by: f64) -> Vec<f64> {
    values.iter().map(|value| value + by).collect()
}

#[test]
fn a_shift_that_is_the_same_for_every_seed_is_shown_however_much_seeds_differ() {
    // Half a Mbit/s, three times the standard deviation of the seeds below, and nothing beside their spread here.
    let wide = [30e6, 33e6, 36e6, 39e6, 42e6];
    let lower: Vec<_> =
        wide.iter().zip([-0.5e6, -0.52e6, -0.48e6, -0.51e6, -0.49e6]).map(|(value, by)| value + by).collect();
    let comparison = compared(&side(&wide, &[]), &side(&lower, &[]), &["goodput_wire_bps < -1%"]);
    assert!(
        comparison.verdict[0]
            .text
            .contains("B is slower: goodput on the wire 36.00 to 35.50 Mbit/s (\u{2212}1.4 %, p < 0.001)"),
        "{}",
        comparison.verdict[0].text
    );
    assert_eq!(comparison.conditions[0].outcome, ConditionOutcome::Fails);
    let row = comparison.pairs[0].metrics.iter().find(|row| row.metric == "goodput_wire_bps").unwrap();
    let difference = row.difference.as_ref().unwrap();
    assert!(difference.correlation.unwrap() > 0.99999);
    let (low, high) = difference.interval.unwrap();
    // Standard deviation 0.0158 Mbit/s, t of 4 degrees of freedom 2.776: half the interval is 0.0196.
    assert!((low + 519_630.0).abs() < 100.0 && (high + 480_370.0).abs() < 100.0, "{low} {high}");
}

#[test]
fn where_nothing_is_shown_it_says_what_would_have_been_seen() {
    let other = [37.2e6, 36.9e6, 37.3e6, 37.0e6, 37.1e6];
    let comparison = compared(&side(&QUIET, &[]), &side(&other, &[]), &[]);
    let text = &comparison.verdict[0].text;
    assert!(
        text.starts_with("no difference shown: a change of more than ")
            && text.contains("would have been seen; not measured: "),
        "{text}"
    );
    assert_eq!(comparison.wrong(true), 0);
}

#[test]
fn metrics_of_a_family_are_corrected_together() {
    let comparison = compared(&side(&QUIET, &[]), &side(&shifted(&QUIET, 0.01e6), &[]), &[]);
    let rows = &comparison.pairs[0].metrics;
    let family =
        rows.iter().filter(|row| row.is_primary && row.difference.as_ref().is_some_and(|one| one.p.is_some())).count();
    let row = rows.iter().find(|row| row.metric == "goodput_wire_bps").unwrap();
    let difference = row.difference.as_ref().unwrap();
    assert!(family > 1, "{family}");
    // The smallest of all p-values is multiplied by their number.
    assert!((difference.p_corrected.unwrap() - (difference.p.unwrap() * family as f64).min(1.0)).abs() < 1e-12);
}

#[test]
fn one_run_on_each_side_decides_nothing_and_says_so() {
    let comparison = compared(&side(&[37e6], &[]), &side(&[30e6], &[]), &["goodput_wire_bps < -5%"]);
    assert!(comparison.verdict[0].text.contains("too few runs"), "{}", comparison.verdict[0].text);
    assert_eq!(comparison.conditions[0].outcome, ConditionOutcome::Undecided);
    assert_eq!((comparison.wrong(false), comparison.wrong(true)), (0, 1));
    assert!(!comparison.is_decided(0.05));
}

#[test]
fn what_was_measured_on_one_side_only_is_said_and_not_dropped() {
    let mut other = side(&QUIET, &[]);
    for run in &mut other.runs[1..] {
        run.metrics.metrics.goodput_wire_bps = None;
    }
    for run in &mut other.runs {
        run.metrics.metrics.rtt_p95_ns = None;
        let metrics = vec!["rtt_p95_ns".to_owned()];
        run.metrics.withheld =
            vec![Withheld { reason: "97 % of the client's packets were not read".to_owned(), metrics }];
    }
    let mut one = side(&QUIET, &[]);
    one.runs.iter_mut().for_each(|run| run.metrics.metrics.rtt_p95_ns = Some(60_000_000));
    let comparison = compared(&one, &other, &["rtt_p95_ns > 1.05x"]);
    assert_eq!(comparison.conditions[0].outcome, ConditionOutcome::NotMeasured);
    assert_eq!(comparison.wrong(false), 1);
    for text in
        [render_comparison_terminal(&comparison, None, true).to_string(), render_comparison_markdown(&comparison)]
    {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("0 of 5 runs of A, 4 of 5 of B"), "{text}");
        assert!(
            text.contains("0 of 5 runs of A, 5 of 5 of B; B: 97 % of the client's packets were not read"),
            "{text}"
        );
    }
}

#[test]
fn where_one_side_fails_in_half_of_its_runs_the_rest_is_compared_and_it_is_said() {
    let failing = side(&shifted(&QUIET, -10e6)[..3], &[failure("pr-04"), failure("pr-05"), failure("pr-06")]);
    let comparison =
        compared(&side(&[QUIET.as_slice(), &[37.4e6]].concat(), &[]), &failing, &["goodput_wire_bps < -5%"]);
    assert!(!comparison.failures.differ, "3 of 6 against 0 of 6 can be chance: {}", comparison.failures.p);
    let text = &comparison.verdict[0].text;
    assert!(text.contains("slower") && text.ends_with("only for the runs that did not fail"), "{text}");
    let shown = render_comparison_terminal(&comparison, None, true).to_string();
    assert!(shown.contains("0 of 6 runs of A failed, 3 of 6 of B"), "{shown}");
    assert!(shown.contains("pr-05: the client ended with exit status 1"), "{shown}");
    // The condition and the failed runs.
    assert_eq!((comparison.conditions[0].outcome, comparison.wrong(false)), (ConditionOutcome::Fails, 2));
}

#[test]
fn where_failures_differ_by_more_than_chance_there_is_no_verdict() {
    let failing = side(&QUIET[..1], &["2", "3", "4", "5"].map(failure));
    let comparison = compared(&side(&QUIET, &[]), &failing, &["goodput_wire_bps < -5%"]);
    // 4 of 5 against 0 of 5: 2 * 5 of the 210 ways, 0.048.
    assert!((comparison.failures.p - 10.0 / 210.0).abs() < 1e-9 && comparison.failures.differ);
    assert!(comparison.verdict[0].text.starts_with("no verdict: B fails more often"), "{}", comparison.verdict[0].text);
    assert_eq!(comparison.conditions[0].outcome, ConditionOutcome::NotMeasured);
    assert_eq!(comparison.wrong(false), 2);
}

#[test]
fn conditions_share_their_error() {
    let of = |conditions: &[&str]| {
        let comparison = compared(&side(&QUIET, &[]), &side(&shifted(&QUIET, -0.05e6), &[]), conditions);
        comparison.conditions[0].numbers.clone()
    };
    assert!(of(&["goodput_wire_bps < -5%"]).contains("95 % interval"));
    assert!(of(&["goodput_wire_bps < -5%", "drops_packets > +10"]).contains("97.5 % interval"));
}

#[test]
fn a_table_of_markdown_has_five_columns() {
    let comparison = compared(&side(&QUIET, &[]), &side(&shifted(&QUIET, -5e6), &[]), &["goodput_wire_bps < -5%"]);
    let text = render_comparison_markdown(&comparison);
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 5, "{text}");
    assert!(rows.iter().all(|row| row.matches('|').count() == 6), "{text}");
    assert!(text.contains("- **FAILS**: fail if `goodput_wire_bps < -5%`"), "{text}");
}

#[test]
fn json_has_raw_values_by_seed_and_a_schema() {
    let comparison = compared(&side(&QUIET, &[]), &side(&shifted(&QUIET, -5e6), &[]), &[]);
    let json: serde_json::Value = serde_json::from_str(&comparison.to_json()).unwrap();
    assert_eq!(json["schema"], 6);
    let rows = json["pairs"][0]["metrics"].as_array().unwrap();
    let goodput = rows.iter().find(|row| row["metric"] == "goodput_wire_bps").unwrap();
    assert_eq!(goodput["a"]["values"][0], serde_json::json!([1, 36.9e6]));
    assert_eq!(goodput["change"], "worse");
}

#[test]
fn the_page_shows_both_sides() {
    let [one, other] = [side(&QUIET, &[]), side(&shifted(&QUIET, -5e6), &[])];
    let comparison = compared(&one, &other, &["goodput_wire_bps < -5%"]);
    let page = render_comparison_html(&comparison, Some(([&one, &other], [&settings_key, &settings_key])));
    for part in ["pr against main", "slower: goodput on the wire", "FAILS", "differences-0", "A: quiche", "B: quiche"] {
        assert!(page.contains(part), "{part} is missing");
    }
}

#[test]
fn settings_that_b_no_longer_runs_are_not_measured() {
    let mut one = side(&QUIET, &[]);
    one.runs.extend(side(&QUIET, &[]).runs.into_iter().map(|mut run| {
        run.run.settings.workload.size = "20 MiB".parse().unwrap();
        run
    }));
    let conditions = ["goodput_wire_bps < -5%", "drops_packets > +10"];
    for (left, right, other) in [(&one, &side(&QUIET, &[]), "B"), (&side(&QUIET, &[]), &one, "A")] {
        let comparison = compared(left, right, &conditions);
        let outcomes: Vec<_> = comparison.conditions.iter().map(|judgement| judgement.outcome).collect();
        assert_eq!(outcomes[..2], [ConditionOutcome::Passes; 2], "{:?}", comparison.conditions);
        assert_eq!(outcomes[2..], [ConditionOutcome::NotMeasured; 2]);
        let numbers = &comparison.conditions[2].numbers;
        assert!(numbers.ends_with(&format!("found no runs with these settings in {other}")), "{numbers}");
        assert_eq!(comparison.wrong(false), 2);
    }
}

#[test]
fn a_condition_is_not_judged_by_the_runs_that_happen_to_have_a_value() {
    let mut other = side(&QUIET, &[]);
    other.runs[4].metrics.metrics.goodput_wire_bps = None;
    let metrics = vec!["goodput_wire_bps".to_owned()];
    other.runs[4].metrics.withheld = vec![Withheld { reason: "the capture stops early".to_owned(), metrics }];
    let comparison = compared(&side(&QUIET, &[]), &other, &["goodput_wire_bps < -5%"]);
    let judgement = &comparison.conditions[0];
    assert_eq!(judgement.outcome, ConditionOutcome::NotMeasured);
    let expected = "without a value: 0 of 5 runs of A, 1 of 5 of B; B: the capture stops early";
    assert!(judgement.numbers.ends_with(expected), "{}", judgement.numbers);
}

#[test]
fn the_means_of_a_verdict_are_those_whose_difference_it_gives() {
    let mut other = side(&shifted(&QUIET, -10e6), &[]);
    // Without a counterpart, seed 5 of A says nothing about the difference.
    other.runs.pop();
    let comparison = compared(&side(&QUIET, &[]), &other, &[]);
    let text = &comparison.verdict[0].text;
    assert!(text.contains("goodput on the wire 37.05 to 27.05 Mbit/s (\u{2212}27 %, p < 0.001)"), "{text}");
}

#[test]
fn a_verdict_names_the_metrics_that_were_not_measured() {
    let comparison = compared(&side(&QUIET, &[]), &side(&QUIET, &[]), &[]);
    let text = &comparison.verdict[0].text;
    assert!(text.starts_with("no difference: every measured metric of the verdict is the same in every run"), "{text}");
    assert!(text.contains("; not measured: ") && text.contains("longest train"), "{text}");
    let mut other = side(&shifted(&QUIET, -10e6), &[]);
    other.runs[0].metrics.metrics.drops_packets = None;
    let comparison = compared(&side(&QUIET, &[]), &other, &[]);
    let text = &comparison.verdict[0].text;
    assert!(text.contains("slower") && text.contains("; not measured in some runs: "), "{text}");
}

#[test]
fn equal_counts_of_runs_that_differ_elsewhere_are_not_certain() {
    let conditions = ["drops_packets > 1.01x"];
    let [one, other] = [side(&QUIET[..3], &[]), side(&shifted(&QUIET[..3], 1.0), &[])];
    assert_eq!(compared(&one, &other, &conditions).conditions[0].outcome, ConditionOutcome::Undecided);
    let mut identical = one.clone();
    for run in &mut identical.runs {
        run.folder.push_str("-of-b");
    }
    let comparison = compared(&one, &identical, &["drops_packets > +0"]);
    assert_eq!(comparison.conditions[0].outcome, ConditionOutcome::Passes, "{:?}", comparison.conditions);
    assert!(comparison.is_decided(0.05));
}

#[test]
fn equal_metrics_are_decided_only_when_a_change_would_have_been_seen() {
    // Everything but goodput is equal, and drops of 10, 20, 30 have steps of 1.
    let metrics = vec!["drops_packets".to_owned()];
    let of = |smallest: f64| {
        let [one, other] = [side(&QUIET[..3], &[]), side(&shifted(&QUIET[..3], 1.0), &[])];
        let question = Question { metrics: metrics.clone(), ..question(&[]) };
        Comparison::of(&one, &other, [&settings_key, &settings_key], &question).unwrap().is_decided(smallest)
    };
    // The standard error is sqrt(1/18), and 5.65 times that (2 degrees of freedom, power 0.8) is 6.7 % of 20.
    assert!(!of(0.066) && of(0.067));
}

#[test]
fn failures_are_judged_at_five_percent_at_every_look() {
    let failing = side(&QUIET[..1], &["2", "3", "4", "5"].map(failure));
    let question = Question { alpha: 0.05 / 6.0, ..question(&[]) };
    let comparison = Comparison::of(&side(&QUIET, &[]), &failing, [&settings_key, &settings_key], &question).unwrap();
    assert!(comparison.failures.p > question.alpha && comparison.failures.differ);
}

#[test]
fn conditions_of_a_pair_with_other_settings_are_not_measured() {
    let one = side(&QUIET, &[]);
    let key = settings_key(&one.runs[0].run.settings);
    let question = Question {
        not_judged: [(key, "A and B also differ in stack.gso: on and off".to_owned())].into(),
        ..question(&["goodput_wire_bps < -5%"])
    };
    let comparison = Comparison::of(&one, &one, [&settings_key, &settings_key], &question).unwrap();
    assert_eq!(comparison.conditions[0].outcome, ConditionOutcome::NotMeasured);
    assert!(comparison.conditions[0].numbers.contains("also differ in stack.gso"), "{:?}", comparison.conditions);
}

#[test]
fn the_verdict_has_the_cause_of_the_longest_train_of_the_burstier_side() {
    let of_longest = |cause: BurstCause, shown: ShownTrain| {
        let [mut one, mut other] = [side(&QUIET, &[]), side(&QUIET, &[])];
        for (side, packets) in [(&mut one, 11), (&mut other, 30)] {
            side.runs.iter_mut().for_each(|run| run.metrics.metrics.train_max_packets = Some(packets));
        }
        let mut comparison = compared(&one, &other, &[]);
        let seen = |packets, cause: Option<BurstCause>| SeenTrain {
            packets,
            bytes: 1200 * packets,
            time_ns: 341_306_000,
            packet_number: Some(833),
            gap_before_ns: Some(2_000_000),
            since_ack_ns: None,
            newly_acknowledged: None,
            bytes_in_flight: None,
            congestion_window_bytes: None,
            pacing_rate_bps: None,
            cause,
            evidence: cause.map(|_| "ACKs of 30 packets during it".to_owned()),
        };
        comparison.explain(vec![TrainDifference {
            label: comparison.verdict[0].label.clone(),
            seed: 1,
            shown,
            has: "B",
            sides: [seen(2, None), seen(30, Some(cause))],
            more: "quiclab diff a b".to_owned(),
        }]);
        (comparison.verdict[0].text.clone(), render_comparison_terminal(&comparison, None, true).to_string())
    };
    let (verdict, text) = of_longest(BurstCause::Ack, ShownTrain::LongestOfBurstier);
    let sentence = "B is burstier: longest train 11.0 to 30.0 packets (2.7 x, p < 0.001), because acknowledgments \
                    release that many at once; goodput on the wire unchanged within 0.10 %";
    assert!(verdict.starts_with(sentence), "{verdict}");
    assert!(text.starts_with("B is burstier: longest train 11.0 to 30.0 packets (2.7 x, p < 0.001),"), "{text}");
    let unfolded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "why: the longest train of B, 30 packets from packet 833 at 341.306 ms (seed 1): ACK: ACKs of 30 packets";
    assert!(unfolded.contains(why), "{text}");
    assert!(unfolded.contains("seed 1: the longest train of B, which is burstier, and the same packets"), "{text}");
    assert!(unfolded.contains("30 packets (36000 bytes) in one train at 341.306 ms, from packet 833 on"), "{text}");
    let (verdict, _) = of_longest(BurstCause::Unknown, ShownTrain::LongestOfBurstier);
    assert!(!verdict.contains("because"), "{verdict}");
    let (verdict, text) = of_longest(BurstCause::Ack, ShownTrain::FirstOnOneSide);
    assert!(!verdict.contains("because"), "{verdict}");
    assert!(text.contains("the first long train that B has and the other does not"), "{text}");
}

/// Both sides with values of one metric, which is the only one that has any beside goodput.
fn with(metric: &str, values: [f64; 2]) -> Comparison {
    let [mut one, mut other] = [side(&QUIET, &[]), side(&QUIET, &[])];
    for (side, value) in [&mut one, &mut other].into_iter().zip(values) {
        for run in &mut side.runs {
            match metric {
                "rtt_p95_ns" => run.metrics.metrics.rtt_p95_ns = Some(value as u64),
                _ => run.metrics.metrics.peak_to_mean_1ms = Some(value),
            }
        }
    }
    compared(&one, &other, &[])
}

#[test]
fn a_difference_that_is_certain_and_tiny_is_neither_better_nor_worse() {
    let comparison = with("rtt_p95_ns", [58_000_000.0, 58_064_000.0]);
    let row = comparison.pairs[0].metrics.iter().find(|row| row.metric == "rtt_p95_ns").unwrap();
    assert!(row.difference.as_ref().unwrap().p_corrected.unwrap() < 0.001);
    assert_eq!(row.change, Change::Small);
    assert!(
        comparison.answer.starts_with("no difference that matters: 95 % of RTTs 58.000 to 58.064 ms (+0.11 %"),
        "{}",
        comparison.answer
    );
    assert_eq!(with("rtt_p95_ns", [58_000_000.0, 59_000_000.0]).pairs[0].burstier(), None);
    assert!(with("rtt_p95_ns", [58_000_000.0, 59_000_000.0]).answer.starts_with("B has longer delays"));
}

#[test]
fn trains_decide_who_is_burstier_and_what_contradicts_them_is_said() {
    let [mut one, mut other] = [side(&QUIET, &[]), side(&QUIET, &[])];
    for (side, packets, peak) in [(&mut one, 11, 25.0), (&mut other, 30, 17.0)] {
        for run in &mut side.runs {
            run.metrics.metrics.train_max_packets = Some(packets);
            run.metrics.metrics.peak_to_mean_1ms = Some(peak);
        }
    }
    let comparison = compared(&one, &other, &[]);
    let answer = &comparison.answer;
    assert!(answer.starts_with("B is burstier: longest train 11.0 to 30.0 packets"), "{answer}");
    assert!(answer.contains("although peak rate in 1 ms / mean 25.00 to 17.00"), "{answer}");
    assert_eq!(comparison.pairs[0].burstier(), Some(1));
    assert_eq!(compared(&other, &one, &[]).pairs[0].burstier(), Some(0));
    assert!(with("peak_to_mean_1ms", [25.0, 17.0]).answer.starts_with("B is smoother: peak rate in 1 ms / mean"));
}

#[test]
fn trains_that_contradict_each_other_are_fewer_and_longer_or_more_and_shorter_bursts() {
    let [mut one, mut other] = [side(&QUIET, &[]), side(&QUIET, &[])];
    for (side, packets, share) in [(&mut one, 11, 0.86), (&mut other, 38, 0.93)] {
        for run in &mut side.runs {
            run.metrics.metrics.train_max_packets = Some(packets);
            run.metrics.metrics.train_share_of_packets_le_5 = Some(share);
        }
    }
    let answer = compared(&one, &other, &[]).answer;
    assert!(answer.starts_with("B sends fewer but longer bursts: longest train 11.0 to 38.0 packets"), "{answer}");
    let reverse = compared(&other, &one, &[]);
    assert!(reverse.answer.starts_with("B sends more but shorter bursts: longest train 38.0"), "{}", reverse.answer);
    // The side whose longest train is shown is the one that has the longer one.
    assert_eq!([compared(&one, &other, &[]), reverse].map(|one| one.pairs[0].burstier()), [Some(1), Some(0)]);
}

#[test]
fn several_settings_have_one_answer() {
    let twice = |goodput: &[f64]| {
        let mut input = side(&QUIET, &[]);
        input.runs.extend(side(goodput, &[]).runs.into_iter().map(|mut run| {
            run.run.settings.workload.size = "20 MiB".parse().unwrap();
            run
        }));
        input
    };
    // A setting about which nothing can be said does not count as one without a difference.
    let mut once = twice(&QUIET[..1]);
    once.runs = [once.runs.remove(0), once.runs.pop().unwrap()].into();
    assert_eq!(compared(&once, &once, &[]).answer, "of 2 settings, B has too few runs in 2");
    let failures = ["2", "3", "4", "5", "6", "7", "8", "9"].map(failure).into();
    let failing = ReportInput { failures, ..once };
    assert_eq!(compared(&twice(&QUIET), &failing, &[]).answer, "of 2 settings, B has no verdict in 2");
    let comparison = compared(&twice(&QUIET), &twice(&shifted(&QUIET, -5e6)), &[]);
    assert_eq!(comparison.answer, "of 2 settings, B shows no difference in 1, is slower in 1");
    assert!(render_comparison_terminal(&comparison, None, false).to_string().starts_with(&comparison.answer));
}

#[test]
fn the_terminal_has_eight_rows_and_eighty_columns_and_all_has_every_metric() {
    let comparison = compared(&side(&QUIET, &[]), &side(&shifted(&QUIET, -5e6), &[]), &["goodput_wire_bps < -5%"]);
    let lines = render_comparison_terminal(&comparison, Some(80), false);
    assert!(lines.0.iter().all(|(_, line)| line.chars().count() <= 80), "{lines}");
    assert!(lines.to_string().starts_with("B is slower: goodput on the wire 37.10 to 32.10 Mbit/s"), "{lines}");
    let goodput = lines.0.iter().find(|(_, line)| line.starts_with("  goodput on the wire")).unwrap();
    assert_eq!(goodput.0, Tone::Bad);
    assert!(goodput.1.ends_with("\u{2212}13 %  worse"), "{}", goodput.1);
    let fails = lines.0.iter().find(|(_, line)| line.starts_with("FAILS")).unwrap();
    assert_eq!(fails.0, Tone::Bad);
    let rows = comparison.pairs[0].metrics.iter().filter(|row| row.is_primary).count();
    assert_eq!(rows, 8, "what is judged by default fits");
    let all = render_comparison_terminal(&comparison, None, true).to_string();
    assert!(all.contains("B \u{2212} A, 95 % interval") && all.contains("not measured on either side: "), "{all}");
}

#[test]
fn markdown_has_what_a_pull_request_needs() {
    let comparison = compared(&side(&QUIET, &[]), &side(&shifted(&QUIET, -5e6), &[]), &[]);
    let text = render_comparison_markdown(&comparison);
    assert!(text.contains("**B is slower: goodput on the wire"), "{text}");
    let folded = text.split_once("<details>").unwrap().1;
    assert!(folded.contains("quiclab ab main pr"), "{text}");
    assert!(folded.contains("40 Mbit/s, 20 ms to the client"), "{text}");
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
}
