//! Repetitions in real time: their order, the check for a quiet machine, and what the record says of it.

use crate::common;
use std::{fs, path::Path};

use crate::common::{Bench, TEST_STACKS, output_of, records};
use serde_json::Value;

/// Two settings; 200 kB at 20 Mbit/s take a tenth of a second.
const EXPERIMENT: &str = r#"
name = "tests/repetition"
title = "Repetitions in real time"
stack.name = "misbehaving"
workload.size = "200 kB"
workload.repetitions = { until = "0.001 %", at_least = 3, at_most = 4 }
path.delay_to_client = "2 ms"
path.delay_to_server = "2 ms"
[matrix]
"path.rate" = ["10 Mbit/s", "20 Mbit/s", "30 Mbit/s"]
"#;

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn runs_in_real_time_are_shuffled_within_repetitions_and_say_what_the_machine_did() {
    let bench = Bench::new(EXPERIMENT);
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &["--testbed", "netns", "--wait-for-quiet", "0"]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let folder = bench.out("out");
    let mut runs = Vec::new();
    for name in records(&folder) {
        let machine = &json(&folder.join(&name).join("path.json"))["machine"];
        let run: toml::Table = fs::read_to_string(folder.join(&name).join("run.toml")).unwrap().parse().unwrap();
        let rate = run["run"]["settings"]["path"]["rate"].as_str().unwrap().to_owned();
        let repetition = run["run"]["repetition"].as_integer().unwrap();
        assert!(machine["before"]["length_ns"].as_u64().unwrap() >= 90_000_000, "{machine}");
        assert!(machine["during"]["length_ns"].as_u64().unwrap() >= 50_000_000, "{machine}");
        assert!(machine["before"]["others_ns"].is_u64() && machine["during"]["steal_ns"].is_u64(), "{machine}");
        assert_eq!(machine["longest_wait_ns"], 0);
        // Never silently.
        let warnings = json(&folder.join(&name).join("metrics.json"))["warnings"].clone();
        let is_warned = warnings.as_array().unwrap().iter().any(|warning| warning["code"] == "machine_not_quiet");
        assert_eq!(is_warned, !machine["not_quiet"].as_array().unwrap().is_empty(), "{machine}");
        runs.push((machine["started_unix_ms"].as_u64().unwrap(), repetition, rate));
    }
    runs.sort();
    // No width of 0.001 % is reached: the limit ends it.
    assert_eq!(runs.iter().map(|run| run.1).collect::<Vec<_>>(), [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]);
    let blocks: Vec<Vec<&str>> = runs.chunks(3).map(|block| block.iter().map(|run| run.2.as_str()).collect()).collect();
    for block in &blocks {
        let mut sorted = block.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, ["10 Mbit/s", "20 Mbit/s", "30 Mbit/s"]);
    }
    // With seed 1 the first four blocks are not all alike.
    assert!(blocks.iter().any(|block| block != &blocks[0]), "{blocks:?}");
    let index = json(&folder.join("experiment.json"));
    assert_eq!(
        (&index["order"]["seed"], &index["order"]["shuffled"]),
        (&Value::from(1), &Value::from("within_repetitions"))
    );
    assert_eq!(index["until"]["at_most"], 4);
    assert!(result.output.contains("at_most = 4 ended the repetition"), "{}", result.output);
    let checked = output_of(common::quiclab().arg("check").arg(&folder));
    assert!(checked.output.contains("at_most = 4 ended the repetition"), "{}", checked.output);
}

#[test]
fn in_virtual_time_nothing_is_shuffled_or_waited_for_and_the_number_of_repetitions_changes_no_identity() {
    let bench = Bench::new(EXPERIMENT);
    let run = |reps: &str| {
        output_of(&mut bench.run(TEST_STACKS, "out", &["--filter", "path.rate=30 Mbit/s", "--reps", reps]))
    };
    assert_eq!(run("1").status, Some(0));
    let folder = bench.out("out");
    let first = records(&folder);
    let set = ["--filter", "path.rate=30 Mbit/s", "--set", "workload.repetitions=until 50 %"];
    let until = output_of(&mut bench.run(TEST_STACKS, "out", &set));
    assert_eq!(until.status, Some(0), "{}", until.errors);
    let all = records(&folder);
    assert_eq!((first.len(), all.len()), (1, 5));
    assert!(all.contains(&first[0]), "{all:?}");
    assert!(json(&folder.join("experiment.json")).get("order").is_none());
    assert!(json(&folder.join(&first[0]).join("path.json")).get("machine").is_none());
}

#[test]
fn what_cannot_be_combined_is_refused_before_anything_runs() {
    let bench = Bench::new(EXPERIMENT);
    let both = output_of(&mut bench.run(TEST_STACKS, "out", &["--until-decided", "--testbed", "netns"]));
    assert!(both.errors.contains("found --until-decided and workload.repetitions with \"until\""), "{}", both.errors);
    let unknown = ["--set", "workload.repetitions=until 2 % of goodput", "--testbed", "netns"];
    let unknown = output_of(&mut bench.run(TEST_STACKS, "out", &unknown));
    assert!(
        unknown.errors.contains("workload.repetitions: found \"goodput\", expected the name of a metric"),
        "{}",
        unknown.errors
    );
    let ab = output_of(common::quiclab().args([
        "ab",
        "quiche",
        "--a",
        "stack.gso=on",
        "--b",
        "stack.gso=off",
        "--testbed",
        "netns",
    ]));
    assert_ne!(ab.status, Some(0));
    assert!(
        ab.errors.contains("ab runs in virtual time only") && ab.errors.contains("hint: put both into one experiment"),
        "{}",
        ab.errors
    );
}
