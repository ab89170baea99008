//! Scenarios of models, as a user would run them.

mod common;

use std::{fs, io::Write, path::Path};

use common::{Bench, Said, TEST_STACKS, quiclab, said};
use serde_json::Value;

/// Two groups, two buffers, two repetitions, a second of work.
const SMALL: &str = r#"
name = "small"
title = "Small"
[scenario]
duration = "3 s"
repetitions = 2
[bottleneck]
rate = "5 Mbit/s"
[flows]
congestion_control = "reno"
[flows.plain]
count = 3
[flows.paced]
count = 3
pacing = "rtt"
[matrix]
"bottleneck.buffer_bdp" = [0.25, 1]
[[figure]]
title = "Goodput"
y = "goodput_bps.plain"
[[expect]]
claim = "the link is used"
metric = "utilisation"
above = 0.3
"#;

/// Runs the file of `bench` into a folder.
fn run(bench: &Bench, out: &str, more: &[&str]) -> Said {
    said(&mut bench.run(TEST_STACKS, out, more))
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn fresh_processes_and_any_number_of_threads_give_the_same_bytes() {
    let files = Bench::new(SMALL);
    for (out, jobs) in [("one", "1"), ("two", "2")] {
        let told = run(&files, out, &["-j", jobs, "--testbed", "sim"]);
        assert_eq!(told.status, Some(0), "{}", told.errors);
        assert!(told.output.contains("holds         the link is used"), "{}", told.output);
    }
    for name in ["report.json", "report.html", "runs.parquet"] {
        assert!(read(&files.out("one").join(name)) == read(&files.out("two").join(name)), "{name} differs");
    }
    let report: Value = serde_json::from_slice(&read(&files.out("one/report.json"))).unwrap();
    let groups = report["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 2);
    for group in groups {
        assert_eq!(group["runs"].as_array().unwrap().len(), 2);
        let shares = ["share.plain", "share.paced"].map(|name| group["metrics"][name]["mean"].as_f64().unwrap());
        assert!((shares[0] + shares[1] - 1.0).abs() < 1e-9, "{shares:?}");
        assert_eq!(group["series"]["time"].as_array().unwrap().len(), 100);
    }
}

#[test]
fn what_was_simulated_is_kept_and_a_torn_line_is_made_again() {
    let files = Bench::new(SMALL);
    assert_eq!(run(&files, "out", &["-j", "1"]).status, Some(0));
    let whole = read(&files.out("out/report.json"));
    let journal = files.out("out/runs.jsonl");
    let lines = String::from_utf8(read(&journal)).unwrap();
    assert_eq!(lines.lines().count(), 4);
    // Killed in the middle of the third line.
    let third = lines.match_indices('\n').nth(1).unwrap().0 + 100;
    fs::write(&journal, &lines[..third]).unwrap();
    let told = run(&files, "out", &["-j", "1"]);
    assert!(told.errors.contains("2 of 4 runs were simulated already"), "{}", told.errors);
    assert_eq!(read(&files.out("out/report.json")), whole);
    let again = String::from_utf8(read(&journal)).unwrap();
    assert_eq!(again.lines().count(), 4);
    // Another program's line is no run.
    fs::OpenOptions::new().append(true).open(&journal).unwrap().write_all(b"{}\n").unwrap();
    let told = run(&files, "out", &[]);
    assert_eq!(told.status, Some(125));
    assert!(told.errors.contains("runs.jsonl:5: found no simulated run"), "{}", told.errors);
}

#[test]
fn check_and_report_know_simulated_results() {
    let failing = SMALL.replace("above = 0.3", "above = 1.5");
    let files = Bench::new(&failing);
    assert_eq!(run(&files, "out", &[]).status, Some(0));
    let told = said(quiclab().arg("check").arg(files.out("out")));
    assert_eq!(told.status, Some(2), "one for each buffer: {}", told.output);
    assert!(told.output.contains("0 of 2 expectations hold"), "{}", told.output);
    let told = said(quiclab().arg("report").arg(files.out("out")).arg("--json"));
    let report: Value = serde_json::from_str(&told.output).unwrap();
    assert_eq!(report["expectations"][0]["outcome"], "fails");
}

#[test]
fn a_run_says_when_it_had_too_many_events_or_took_too_long() {
    let files = Bench::new(&SMALL.replace("duration = \"3 s\"", "duration = \"3 s\"\nevents = 5000"));
    let told = run(&files, "out", &[]);
    assert_eq!(told.status, Some(0));
    assert!(told.output.contains("4 of 4 runs ended early"), "{}", told.output);
    let files = Bench::new(&SMALL.replace("duration = \"3 s\"", "duration = \"100000 s\"\ntime_limit = \"1 ms\""));
    let told = run(&files, "out", &["--reps", "1", "--filter", "bottleneck.buffer_bdp=1"]);
    assert_eq!(told.status, Some(1));
    assert!(told.errors.contains("stopped after 1 ms of this machine's time"), "{}", told.errors);
    assert!(told.output.contains("hint: raise scenario.time_limit"), "{}", told.output);
}

#[test]
fn too_many_flows_fail_and_do_not_fill_the_memory() {
    let told = run(&Bench::new(&SMALL.replace("count = 3", "count = 10000000")), "out", &["--reps", "1"]);
    assert_eq!(told.status, Some(2));
    assert!(told.errors.contains("found 20000000 flows, expected at most 1000000"), "{}", told.errors);
}

#[test]
fn models_run_in_the_simulator_only() {
    let told = run(&Bench::new(SMALL), "out", &["--testbed", "vm"]);
    assert_eq!(told.status, Some(125));
    assert!(told.errors.contains("found a scenario file with --testbed vm, expected --testbed sim"), "{}", told.errors);
}

#[test]
fn names_of_metrics_and_series_are_checked_before_anything_is_run() {
    for (from, to, expected) in [
        ("metric = \"utilisation\"", "metric = \"utilization\"", "expect.metric: found \"utilization\" with the claim"),
        ("\"goodput_bps.plain\"", "\"goodput_bps.fast\"", "figure.y: found \"goodput_bps.fast\" in \"Goodput\""),
    ] {
        let files = Bench::new(&SMALL.replace(from, to));
        let told = run(&files, "out", &[]);
        assert_eq!(told.status, Some(125));
        assert!(told.errors.contains(expected), "{}", told.errors);
        assert!(!files.out("out").exists());
    }
}

#[test]
fn one_flow_does_what_another_simulator_and_linux_say() {
    let folder = tempfile::tempdir().unwrap();
    let oracles = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/oracles");
    let told = said(quiclab().arg("run").arg(oracles).arg("--out").arg(folder.path()));
    assert_eq!(told.status, Some(0), "{}", told.errors);
    let told = said(quiclab().arg("check").arg(folder.path()));
    assert_eq!(told.status, Some(0), "{}", told.output);
    assert!(told.output.contains("48 of 48 expectations hold"), "{}", told.output);
}
