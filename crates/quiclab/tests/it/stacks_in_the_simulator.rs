//! Real stacks without sockets, on models of hosts, as a user would run them.

use crate::common;
use std::{fs, path::Path};

use crate::common::{Bench, CommandOutput, output_of, program, quiclab, records};
use quiclab_testing::{has_program, processes_with};
use serde_json::Value;

/// The stacks that the simulator calls.
const SANS_IO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sans-io");
/// A transfer that meets its bottleneck.
const SMALL: &str = r#"
name = "small"
title = "Small"
[workload]
size = "2 MiB"
repetitions = 2
[stack]
name = "quinn"
"#;

fn run(bench: &Bench, out: &str, more: &[&str]) -> CommandOutput {
    output_of(bench.run(SANS_IO, out, &["--testbed", "sim"]).args(more))
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn fresh_processes_give_the_same_bytes_and_verify_says_so() {
    let files = Bench::new(SMALL);
    for (out, jobs) in [("one", "1"), ("two", "2")] {
        let result = run(&files, out, &["-j", jobs]);
        assert_eq!(result.status, Some(0), "{}", result.errors);
    }
    let names = records(&files.out("one"));
    assert_eq!((names.len(), records(&files.out("two"))), (2, names.clone()));
    for name in &names {
        for file in ["run.toml", "wire.pcapng", "path.json", "metrics.json", "server/keys.log", "client/keys.log"] {
            let [one, two] = ["one", "two"].map(|out| read(&files.out(out).join(name).join(file)));
            assert!(one == two, "{name}/{file} differs");
        }
    }
    assert_ne!(
        read(&files.out("one").join(&names[0]).join("wire.pcapng")),
        read(&files.out("one").join(&names[1]).join("wire.pcapng"))
    );
    let mut verify = quiclab();
    let result = output_of(verify.arg("verify").arg(files.out("one").join(&names[0])).args(["--stacks", SANS_IO]));
    assert_eq!(result.status, Some(0), "{}{}", result.output, result.errors);
    // What has a record is not run again.
    let result = run(&files, "one", &[]);
    assert!(result.errors.contains("2 of 2 runs have a record already"), "{}", result.errors);
}

#[test]
fn the_packets_are_real_ones_and_add_up() {
    if !has_program("tshark", "tshark") {
        return;
    }
    let files = Bench::new(&SMALL.replace("repetitions = 2", "repetitions = 1"));
    let result = run(&files, "out", &["--json"]);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let report: Value = serde_json::from_str(&result.output).unwrap();
    let run = &report["report"]["groups"][0]["runs"][0];
    // Two taps and the queue's own counters agree, the secrets open the packets, the whole file came.
    assert_eq!(run["warnings"], Value::Array(Vec::new()));
    let metrics = &run["metrics"];
    assert!(metrics["drops_packets"].as_u64().unwrap() > 0, "{metrics}");
    assert_eq!(metrics["packets_duplicated"], 0);
    assert_eq!(metrics["rtt_min_ns"], 40_000_000);
    assert!(metrics["stream_bytes"].as_u64().unwrap() >= 2 << 20, "{metrics}");
    let name = records(&files.out("out")).remove(0);
    let capture = files.out("out").join(name).join("wire.pcapng");
    // Another reader of packets sees the same: lengths and checksums of IP and UDP are right.
    let mut tshark = std::process::Command::new("tshark");
    tshark.arg("-r").arg(&capture).args(["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
    tshark.args(["-Y", "frame.interface_id == 0 && ip.checksum.status == 1 && udp.checksum.status == 1 && quic"]);
    let seen = output_of(tshark.args(["-T", "fields", "-e", "ip.src"]));
    let from_server = seen.output.lines().filter(|line| *line == "193.167.100.100").count() as u64;
    assert_eq!(Some(from_server), metrics["packets_sent"].as_u64(), "{}", seen.errors);
}

#[test]
fn results_are_held_against_others_of_the_same_settings() {
    let files = Bench::new(SMALL);
    assert_eq!(run(&files, "plain", &[]).status, Some(0));
    let slow = Bench::new(&format!("{SMALL}\n[sim]\ntimer_step = \"5 ms\"\n"));
    assert_eq!(run(&slow, "slow", &[]).status, Some(0));
    let compare = |one: &Path, other: &Path| {
        let result = output_of(quiclab().arg("ab").args([one, other]).arg("--json"));
        assert_eq!(result.status, Some(0), "{}", result.errors);
        serde_json::from_str::<Value>(&result.output).unwrap()["pairs"][0].clone()
    };
    let same = compare(&files.out("plain"), &files.out("plain"));
    assert_eq!((same["gap_distance"].as_f64(), same["train_distance"].as_f64()), (Some(0.0), Some(0.0)));
    let different = compare(&files.out("plain"), &slow.out("slow"));
    assert!(different["gap_distance"].as_f64().unwrap() > 0.01, "{different}");
    let other = Bench::new(&format!("{SMALL}congestion_control = \"reno\"\n"));
    assert_eq!(run(&other, "reno", &[]).status, Some(0));
    let result = output_of(quiclab().arg("ab").args([files.out("plain"), other.out("reno")]));
    assert_eq!(result.status, Some(125));
    assert!(result.errors.contains("found no common settings"), "{}", result.errors);
}

#[test]
fn settings_that_a_testbed_does_not_know_are_refused() {
    for (lines, expected) in [
        (
            "[vm]\ntheft_length = \"10 us\"",
            "vm.theft_length: found \"10 us\", which the testbed sim does not have; expected the default",
        ),
        ("[hosts]\nserver_qdisc = \"fq_codel\"", "hosts.server_qdisc: found \"fq_codel\", which"),
        ("[hosts]\nserver_qdisc = \"fq\"\nfq_quantum = \"2 kB\"", "hosts.fq_quantum: found \"2 kB\", which"),
        // A key of earlier versions.
        ("kernel = \"6.12\"", "vm.kernel: found \"6.12\", which"),
    ] {
        let whole = if lines.starts_with('[') { format!("{SMALL}{lines}\n") } else { format!("{lines}\n{SMALL}") };
        let result = run(&Bench::new(&whole), "out", &[]);
        assert_eq!(result.status, Some(125));
        assert!(result.errors.contains(expected) && result.errors.contains("hint: --testbed vm"), "{}", result.errors);
    }
    let files = Bench::new(&SMALL.replace("quinn", "quiche"));
    let result = run(&files, "out", &[]);
    assert!(result.errors.contains("found \"quiche\", expected one of"), "{}", result.errors);
    let files = Bench::new(&format!("{SMALL}[sim]\ncall_cost = \"1 us\"\n"));
    let result = output_of(&mut files.run(common::REAL_STACKS, "out", &["--dry-run"]));
    assert_eq!(result.status, Some(125));
    assert!(
        result.errors.contains("which the testbed vm does not have; expected the default\nhint: --testbed sim"),
        "{}",
        result.errors
    );
}

/// A stack of a shell script.
fn stack(folder: &Path, script: &str) {
    let manifest = fs::read_to_string(Path::new(SANS_IO).join("quinn/stack.toml")).unwrap();
    let (before, _) = manifest.split_once("[build]").unwrap();
    let build = "[build]\ncommand = \"mkdir -p $QUICLAB_STACK_OUT && cp endpoint $QUICLAB_STACK_OUT\"\nprofile = \"none\"\n\
                 host_packages = []\nhost_tools = []\n[guest]\npackages = []\ncommand = [\"/stack/endpoint\"]\n";
    program(folder, "endpoint", script);
    fs::write(folder.join("stack.toml"), format!("{before}{build}").replace("\"quinn\"", "\"mine\"")).unwrap();
}

#[test]
fn an_endpoint_that_goes_wrong_fails_its_run_and_is_told_of() {
    let cases = [
        ("exit 127", "exited with 127"),
        ("echo I give up >&2; exit 3", "exit status 3"),
        ("kill -SEGV $$", "signal 11"),
        // An endpoint may not start processes, so this must not.
        (r"printf '\001\000\000\000\007'; exec sleep 54321", "found state 7, expected 0 or 1"),
    ];
    for (script, expected) in cases {
        let files = Bench::new(&SMALL.replace("quinn", "mine").replace("repetitions = 2", "repetitions = 1"));
        let folder = files.out("mine");
        stack(&folder, script);
        let result = run(&files, "out", &["--stack", &folder.display().to_string()]);
        assert_eq!(result.status, Some(1), "{}", result.errors);
        assert!(result.errors.contains(expected), "{script}: {}", result.errors);
        assert!(records(&files.out("out")).is_empty());
        quiclab_testing::wait_until("its end", || processes_with("sleep 54321").is_empty());
        let kept = fs::read_dir(files.out("out/failed")).unwrap().next().unwrap().unwrap().path();
        assert!(kept.join("failure.txt").is_file() && kept.join("wire.pcapng").is_file());
        if script.contains("give up") {
            assert_eq!(fs::read_to_string(kept.join("client/stderr")).unwrap(), "I give up\n");
        }
    }
}

#[test]
fn an_endpoint_that_hangs_ends_with_the_command() {
    let files = Bench::new(&SMALL.replace("quinn", "hanging"));
    let folder = files.out("hanging");
    stack(&folder, "exec sleep 98765");
    let manifest = fs::read_to_string(folder.join("stack.toml")).unwrap().replace("\"mine\"", "\"hanging\"");
    fs::write(folder.join("stack.toml"), manifest).unwrap();
    let mut command =
        files.run(SANS_IO, "out", &["--testbed", "sim", "-j", "1", "--stack", &folder.display().to_string()]);
    let mut child = command.stderr(std::process::Stdio::null()).stdout(std::process::Stdio::null()).spawn().unwrap();
    quiclab_testing::wait_until("the endpoint", || !processes_with("sleep 98765").is_empty());
    // Even where it cannot tell them.
    child.kill().unwrap();
    child.wait().unwrap();
    quiclab_testing::wait_until("its end", || processes_with("sleep 98765").is_empty());
    assert!(records(&files.out("out")).is_empty());
}
