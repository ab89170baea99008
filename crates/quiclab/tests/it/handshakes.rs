//! `quiclab run --handshakes`, by its output.

use std::{
    fs, iter,
    process::{Command, Stdio},
};

use crate::common::{Bench, CommandOutput, output_of, quiclab};
use quiclab_testing::wait_until;
use quiclab_trace::read_numbers;
use serde_json::Value;

const SANS_IO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sans-io");
const LOST_FLIGHT: &str = r#"
name = "lost"
title = "Lost"
[workload]
size = "1 kB"
repetitions = 1
[stack]
name = "quinn"
[tap]
bottleneck_snaplen = "full"
[[path.to_client]]
stage = "delay"
delay = "10 ms"
[[path.to_server]]
stage = "loss"
model = "content"
drop = "flight 2"
at_least_drops = 1
[[path.to_server]]
stage = "delay"
delay = "10 ms"
"#;

fn handshakes(bench: &Bench, more: &[&str]) -> CommandOutput {
    let mut command: Command = quiclab();
    command.arg("run").arg(bench.file()).args(["--stacks", SANS_IO, "--handshakes"]).args(more);
    output_of(&mut command)
}

#[test]
fn each_handshake_is_measured_as_in_a_run_and_the_next_one_has_another_seed() {
    check_handshakes("quinn");
}

#[test]
#[ignore = "builds four more stacks: make test-sans-io"]
fn each_handshake_of_the_other_stacks_is_measured_as_in_a_run() {
    for stack in ["neqo", "ngtcp2-1.25", "picoquic", "quiche-0.22"] {
        check_handshakes(stack);
    }
}

/// A sandbox puts two processes in front of each endpoint, so what has to be kept on one processor is the process that works.
#[test]
fn endpoints_run_on_the_processor_of_quiclab() {
    let bench = Bench::new(LOST_FLIGHT);
    assert_eq!(handshakes(&bench, &["1"]).status, Some(0), "builds the stack");
    let mut command = quiclab();
    command.arg("run").arg(bench.file()).args(["--stacks", SANS_IO, "--handshakes", "1000000"]);
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let mut endpoints = Vec::new();
    wait_until("two endpoints", || {
        endpoints = descendants(child.id(), "quinn-sans-io");
        endpoints.len() == 2
    });
    let processors: Vec<_> = endpoints.iter().map(|id| status(*id, "Cpus_allowed_list")).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(processors.len(), 2);
    let first = processors[0].as_deref().unwrap_or_default();
    assert!(first.parse::<u32>().is_ok() && processors[0] == processors[1], "{processors:?}, expected the same one");
}

/// Processes of this name that `ancestor` or its children started.
fn descendants(ancestor: u32, name: &str) -> Vec<u32> {
    let ids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let is_below = |id: u32| {
        let parent = |id: &u32| status(*id, "PPid")?.parse().ok().filter(|parent| *parent > 1);
        iter::successors(Some(id), parent).any(|id| id == ancestor)
    };
    ids.filter(|id| status(*id, "Name").as_deref() == Some(name) && is_below(*id)).collect()
}

/// A field of proc_pid_status(5); `None`: the process has ended.
fn status(id: u32, field: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

fn check_handshakes(stack: &str) {
    let bench = Bench::new(&LOST_FLIGHT.replace("quinn", stack));
    let folder = tempfile::tempdir().unwrap();
    let files = ["one", "two"].map(|name| folder.path().join(format!("{name}.parquet")));
    for file in &files {
        let result = handshakes(&bench, &["20", "--json", "--handshakes-table", file.to_str().unwrap()]);
        assert_eq!(result.status, Some(0), "{}", result.errors);
        let groups: Value = serde_json::from_str(&result.output).unwrap();
        assert_eq!((&groups[0]["handshakes"], &groups[0]["failed"]), (&20.into(), &0.into()));
        assert!(groups[0]["probes"][0].as_f64().unwrap() >= 1.0, "{groups}");
        let parts =
            ["client", "server", "simulation", "measurement"].map(|part| &groups[0]["cpu_seconds_by_part"][part]);
        assert!(parts.iter().all(|seconds| seconds.as_f64().unwrap() > 0.0), "{groups}");
    }
    assert!(fs::read(&files[0]).unwrap() == fs::read(&files[1]).unwrap(), "two fresh processes differ");
    let names = ["seed", "handshake_client_first_byte_ns", "handshake_client_rtt_samples"];
    let rows = read_numbers(&files[0], &names).unwrap().unwrap();
    assert_eq!(rows.len(), 20);
    assert!(rows.windows(2).all(|pair| pair[1][0] == pair[0][0] + 1.0));
    let result = output_of(bench.run(SANS_IO, "out", &["--testbed", "sim"]).arg("--json"));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let report: Value = serde_json::from_str(&result.output).unwrap();
    let metrics = &report["report"]["groups"][0]["runs"][0]["metrics"];
    assert_eq!(metrics["handshake_client_first_byte_ns"].as_f64().unwrap(), rows[0][1]);
    assert_eq!(metrics["handshake_client_rtt_samples"].as_f64().unwrap(), rows[0][2]);
}

#[test]
fn a_rule_that_never_matches_fails_each_handshake() {
    let bench = Bench::new(&LOST_FLIGHT.replace("flight 2", "retry"));
    let result = handshakes(&bench, &["3", "--json"]);
    assert_eq!(result.status, Some(1), "{}", result.errors);
    let groups: Value = serde_json::from_str(&result.output).unwrap();
    assert_eq!(groups[0]["failed"], 3);
    assert!(groups[0]["first_failure"].as_str().unwrap().contains("at_least_drops"), "{groups}");
}
