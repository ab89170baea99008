//! Warnings about repetitions: of samples of real time, and of metrics that should have been known better.

use crate::common;
use quiclab_experiment::Until;
use quiclab_report::{AnyReport, Comparison, Outcome, Question, ReportInput, findings, render_json, settings_key};
use serde_json::Value;

/// Runs in real time, in this order.
fn samples(goodputs_bps: &[f64]) -> ReportInput {
    let mut input = common::side(goodputs_bps, &[]);
    for (place, run) in (0..).zip(&mut input.runs) {
        run.versions.insert("clock".to_owned(), "wall".to_owned());
        run.started_unix_ms = Some(1_800_000_000_000 + place);
    }
    input
}

/// The codes of the warnings of the only group, and their sentences.
fn warnings(input: &ReportInput) -> Vec<(String, String)> {
    let json: Value = serde_json::from_str(&render_json(input)).unwrap();
    let all = json["groups"][0]["warnings"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    all.iter().map(|warning| (text(&warning["code"]), text(&warning["message"]))).collect()
}

/// Values without order: multiples of 7 modulo 20.
fn steady() -> Vec<f64> {
    (0..20).map(|place| 37e6 + f64::from(place * 7 % 20) * 1e4).collect()
}

#[test]
fn steady_samples_have_no_warning() {
    assert!(warnings(&samples(&steady())).is_empty(), "{:?}", warnings(&samples(&steady())));
}

#[test]
fn an_outlier_is_named_with_its_value_and_the_first_run_with_a_likely_cause() {
    let mut goodputs = steady();
    goodputs[5] = 20e6;
    let [(code, message)] = &warnings(&samples(&goodputs))[..] else { panic!("expected one warning") };
    assert_eq!(code, "outliers");
    assert!(message.starts_with("goodput on the wire: 20 Mbit/s far from the others"), "{message}");
    assert!(!message.contains("first one"), "{message}");
    let mut goodputs = steady();
    goodputs[0] = 20e6;
    assert!(warnings(&samples(&goodputs))[0].1.contains("it was the first one"));
}

#[test]
fn drift_follows_the_time_and_not_the_number_of_the_repetition() {
    let mut sorted = steady();
    sorted.sort_by(|one, other| other.total_cmp(one));
    let mut input = samples(&sorted);
    let [(code, message)] = &warnings(&input)[..] else { panic!("expected one warning") };
    assert_eq!(code, "drift");
    assert!(message.starts_with("goodput on the wire fell by about 0.19 Mbit/s"), "{message}");
    // The same values, measured in an order without sense.
    for (place, run) in (0..).zip(&mut input.runs) {
        run.started_unix_ms = Some(1_800_000_000_000 + place * 7 % 20);
    }
    assert!(warnings(&input).is_empty(), "{:?}", warnings(&input));
}

#[test]
fn two_modes_are_named_with_their_centres() {
    let goodputs: Vec<_> =
        (0..20).map(|place| if place * 7 % 20 < 6 { 20e6 } else { 37e6 } + f64::from(place) * 1e3).collect();
    let codes: Vec<_> = warnings(&samples(&goodputs));
    let message = &codes.iter().find(|(code, _)| code == "two_modes").unwrap().1;
    assert!(message.contains("around 20.01 in 6 runs and around 37.01 Mbit/s in 14"), "{message}");
}

#[test]
fn seeds_in_virtual_time_are_not_examined() {
    let mut goodputs = steady();
    goodputs[5] = 20e6;
    assert!(warnings(&common::side(&goodputs, &[])).is_empty());
}

#[test]
fn repetitions_that_ended_at_their_limit_say_how_well_the_metric_is_known() {
    // Standard deviation sqrt(2.5), t of 4 degrees of freedom 2.776: half of the interval is 1.963 % of the mean.
    let goodputs = [98e6, 99e6, 100e6, 101e6, 102e6];
    let with = |width: f64, at_most: u32| {
        let until = Until { metric: "goodput_wire_bps".to_owned(), width, at_least: 5, at_most };
        warnings(&ReportInput { until: Some(until), ..common::side(&goodputs, &[]) })
    };
    assert!(with(0.02, 5).is_empty());
    let [(code, message)] = &with(0.01, 5)[..] else { panic!("expected one warning") };
    assert_eq!(code, "interval_too_wide");
    let expected = "goodput on the wire is known to \u{b1} 1.963 % of the mean after 5 runs (95 % interval), expected \u{b1} 1 %: at_most = 5 \
                    ended the repetition";
    assert_eq!(message, expected);
    assert!(with(0.01, 50)[0].1.ends_with("runs failed, or the repetition was interrupted"));
}

#[test]
fn one_run_decides_a_claim_in_virtual_time_and_none_in_real_time() {
    let claim = common::input().expectations.remove(1);
    let outcome = |input: ReportInput| {
        let findings = findings(&ReportInput { expectations: vec![claim.clone()], ..input });
        (findings[0].outcome.clone(), findings[0].numbers())
    };
    // At most 32 Mbit/s.
    assert_eq!(outcome(common::side(&[30e6], &[])).0, Outcome::Holds);
    let (of_sample, numbers) = outcome(samples(&[30e6]));
    assert_eq!(of_sample, Outcome::Undecided);
    assert!(numbers.ends_with("; one run in real time, so nothing is known of chance"), "{numbers}");
    assert_eq!(outcome(samples(&[30e6, 30.1e6, 30.2e6])).0, Outcome::Holds);
}

#[test]
fn samples_are_not_paired_by_seed_and_the_comparison_says_so() {
    let question = Question {
        names: ["a".to_owned(), "b".to_owned()],
        conditions: Vec::new(),
        metrics: Vec::new(),
        alpha: 0.05,
        not_judged: Default::default(),
        command: String::new(),
    };
    let compare = |one: &ReportInput, other: &ReportInput| {
        Comparison::of(one, other, [&settings_key, &settings_key], &question).unwrap()
    };
    let goodputs = [30e6, 31e6, 32e6];
    let (exact, sample) = (common::side(&goodputs, &[]), samples(&goodputs));
    let both_exact = compare(&exact, &exact);
    assert!(both_exact.pairs[0].is_paired && both_exact.notes.is_empty());
    for (one, other, note) in [
        (&exact, &sample, "A is of virtual time, B is a sample of real time"),
        (&sample, &exact, "A is a sample of real time, B is of virtual time"),
        (&sample, &sample, "A and B are samples of real time"),
    ] {
        let compared = compare(one, other);
        assert!(!compared.pairs[0].is_paired, "{note}");
        assert!(compared.notes[0].starts_with(note), "{:?}", compared.notes);
        let row = compared.pairs[0].metrics.iter().find(|row| row.metric == "goodput_wire_bps").unwrap();
        assert!(row.difference.as_ref().unwrap().interval.is_some());
    }
}

#[test]
fn warnings_are_listed_for_the_terminal_too() {
    let mut goodputs = steady();
    goodputs[5] = 20e6;
    let [(of, message)] = &AnyReport::Transfers(Box::new(samples(&goodputs))).warnings()[..] else {
        panic!("expected one warning")
    };
    assert_eq!(of, "quiche (1 of 20 runs)");
    assert!(message.contains("far from the others"), "{message}");
}
