//! What a file expects, and of which runs.

use crate::common::{plan, with};
use quiclab_experiment::{Bound, Expectation, Subject, run::Settings};

const MATRIX: &str =
    "[matrix]\n\"stack.name\" = [\"quiche\", \"ngtcp2\"]\n\"hosts.server_qdisc\" = [\"none\", \"fq\"]\n";

/// What `lines` expect, and whom they are about.
fn subjects(lines: &str) -> (Expectation, Vec<Subject>) {
    let expect = format!("[[expect]]\nclaim = \"it is so\"\nmetric = \"drops_packets\"\n{lines}");
    let plan = plan(&with(&format!("{MATRIX}{expect}"))).unwrap();
    let settings: Vec<&Settings> = plan.runs.iter().map(|run| &run.settings).collect();
    let names: Vec<_> = settings.iter().map(|settings| settings.stack.name.as_str()).collect();
    assert_eq!(names, ["quiche", "ngtcp2", "quiche", "ngtcp2"].as_slice(), "the order that the tests below count on");
    let [expectation] = &plan.experiment.common.expectations[..] else { panic!("one expectation") };
    (expectation.clone(), expectation.subjects(&settings))
}

fn error(lines: &str) -> String {
    plan(&with(&format!("[stack]\nname = \"quiche\"\n[[expect]]\n{lines}"))).unwrap_err().to_string()
}

#[test]
fn a_number_is_for_every_run_that_matches() {
    let (expectation, subjects) = subjects("runs = { \"stack.name\" = \"quiche\" }\nat_most = 3\n");
    assert_eq!((expectation.bound, expectation.number), (Bound::AtMost, 3.0));
    assert_eq!(expectation.claim, "it is so");
    assert_eq!(subjects, [Subject { of: 0, with: None }, Subject { of: 2, with: None }]);
}

#[test]
fn runs_are_compared_with_those_that_are_alike_in_all_else() {
    let (_, subjects) = subjects(
        "runs = { \"hosts.server_qdisc\" = \"fq\" }\nbelow = 1\ncompared_with = { \"hosts.server_qdisc\" = \"none\" }\n",
    );
    assert_eq!(subjects, [Subject { of: 2, with: Some(vec![0]) }, Subject { of: 3, with: Some(vec![1]) }]);
}

#[test]
fn other_stacks_may_do_by_themselves_what_they_do() {
    let lines = "runs = { \"stack.name\" = \"ngtcp2\", \"hosts.server_qdisc\" = \"fq\" }\nabove = 1.5\ncompared_with = { \"stack.name\" = \"quiche\", \"hosts.server_qdisc\" = \"fq\" }\n";
    assert_eq!(subjects(lines).1, [Subject { of: 3, with: Some(vec![2]) }]);
}

#[test]
fn a_setting_of_a_stage_can_differ_between_the_runs_that_are_compared() {
    let file = "[path]\n[[path.to_client]]\nstage = \"delay\"\ndelay = \"1 ms\"\n[[path.to_client]]\nstage = \"loss\"\nmodel = \"independent\"\nprobability = 0.01\n\
        [matrix]\n\"path.to_client.delay.delay\" = [\"1 ms\", \"9 ms\"]\n\"path.to_client.loss.probability\" = [0.01, 0.02]\n\
        [[expect]]\nclaim = \"it is so\"\nmetric = \"drops_packets\"\nabove = 1\n\
        runs = { \"path.to_client.delay.delay\" = \"9 ms\" }\ncompared_with = { \"path.to_client.delay.delay\" = \"1 ms\" }\n";
    let plan = plan(&format!("name = \"x\"\ntitle = \"X\"\n[stack]\nname = \"quiche\"\n{file}")).unwrap();
    let settings: Vec<&Settings> = plan.runs.iter().map(|run| &run.settings).collect();
    // Runs 2 and 3 have the longer delay; the loss is the same as in runs 0 and 1.
    let expected = [Subject { of: 2, with: Some(vec![0]) }, Subject { of: 3, with: Some(vec![1]) }];
    assert_eq!(plan.experiment.common.expectations[0].subjects(&settings), expected);
}

#[test]
fn too_few_settings_leave_it_open_what_is_meant() {
    let lines = "runs = { \"stack.name\" = \"ngtcp2\", \"hosts.server_qdisc\" = \"fq\" }\nabove = 1.5\ncompared_with = { \"stack.name\" = \"quiche\" }\n";
    // The queueing discipline is named by `runs`, so it may be any here.
    assert_eq!(subjects(lines).1, [Subject { of: 3, with: Some(vec![0, 2]) }]);
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (lines, expected) in [
        ("metric = \"m\"\nabove = 1\n", "x.toml:5:1: expect.claim: missing; expected the expectation, in words"),
        ("claim = \"c\"\nabove = 1\n", "x.toml:5:1: expect.metric: missing; expected the name of a metric"),
        (
            "claim = \"c\"\nmetric = \"m\"\n",
            "x.toml:5:1: expect: found none of at_least, at_most, above and below, expected one",
        ),
        (
            "claim = \"c\"\nmetric = \"m\"\nabove = 1\nbelow = 2\n",
            "x.toml:5:1: expect: found 2 of at_least, at_most, above and below, expected one",
        ),
        ("above = \"1\"\n", "x.toml:6:9: expect.above: found \"1\", expected a number"),
        ("above = nan\n", "x.toml:6:9: expect.above: found nan, expected a number"),
        (
            "runs = { \"workload.repetitions\" = 3 }\n",
            "x.toml:6:10: expect.runs.workload.repetitions: found a key that no single run has\nhint: describe it in \
             words",
        ),
        (
            "over = 1\n",
            "x.toml:6:1: expect.over: found a key that does not exist\nhint: a table has claim, source, metric, runs, one of at_least, \
             at_most, above and below, compared_with, as and losses",
        ),
    ] {
        assert_eq!(error(lines), expected);
    }
}

#[test]
fn equal_losses_are_a_number_of_bytes_that_may_differ() {
    let both = "runs = { \"hosts.server_qdisc\" = \"fq\" }\ncompared_with = { \"hosts.server_qdisc\" = \"none\" }\n";
    let expectation = |lines: &str| {
        let expect = format!("[[expect]]\nclaim = \"c\"\nlosses = \"equal\"\n{both}{lines}");
        plan(&with(&format!("{MATRIX}{expect}"))).unwrap().experiment.common.expectations.remove(0)
    };
    let found = expectation("");
    assert!(found.is_of_losses());
    assert_eq!((found.bound, found.number), (Bound::AtMost, 0.0));
    assert_eq!(expectation("at_most = 3\n").number, 3.0);
    for (lines, expected) in [
        ("losses = \"same\"\n", "expect.losses: found \"same\", expected \"equal\""),
        ("losses = \"equal\"\n", "expect.compared_with: missing; losses = \"equal\" needs the runs to compare with"),
        ("losses = \"equal\"\nmetric = \"m\"\n", "expect.metric: found in addition to losses"),
    ] {
        let message = error(&format!("claim = \"c\"\n{lines}"));
        assert!(message.contains(expected), "{message}");
    }
    let message = error(&format!("claim = \"c\"\nlosses = \"equal\"\nabove = 1\n{both}"));
    assert!(message.contains("expect.above: found with losses, expected at_most"), "{message}");
}
