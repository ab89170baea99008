//! The examples of stages, run as a user would: each effect is checked on the wire against what follows from its settings.

use crate::common;
use std::path::PathBuf;

use crate::common::{Bench, output_of, quiclab, records};
use quiclab_testing::has_program;
use serde_json::Value;

const EXPERIMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
const SANS_IO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sans-io");

/// What was seen of each run of an example, and its metrics.
struct Seen {
    path: Value,
    metrics: Value,
    folder: PathBuf,
}

fn run(example: &str, more: &[&str]) -> Vec<Seen> {
    let bench = Bench::new("");
    let out = bench.folder.path().join("out");
    let mut command = quiclab();
    command.arg("run").arg(format!("{EXPERIMENTS}/examples/{example}.toml")).args(["--testbed", "sim"]);
    command.args(["--stacks", SANS_IO]).arg("--out").arg(&out).args(more);
    let result = output_of(&mut command);
    assert_eq!(result.status, Some(0), "{}{}", result.output, result.errors);
    let seen = records(&out).into_iter().map(|name| {
        let folder = out.join(name);
        let read = |file: &str| serde_json::from_slice(&std::fs::read(folder.join(file)).unwrap()).unwrap();
        Seen { path: read("path.json"), metrics: read("metrics.json"), folder: folder.clone() }
    });
    let seen = seen.collect();
    // The records outlive the bench.
    std::mem::forget(bench);
    seen
}

fn only(example: &str) -> Seen {
    let mut seen = run(example, &[]);
    assert_eq!(seen.len(), 1, "{example}");
    seen.remove(0)
}

impl Seen {
    /// A stage of a direction, by its name.
    fn stage(&self, direction: &str, name: &str) -> &Value {
        let stages = self.path["path"][direction].as_array().unwrap();
        stages.iter().find(|stage| stage["name"] == name).unwrap_or_else(|| panic!("{name}: {stages:?}"))
    }

    /// Packets that went into a stage, and those of them that it counts as `key`.
    fn counted(&self, direction: &str, name: &str, section: &str, key: &str) -> (f64, f64) {
        let stage = self.stage(direction, name);
        let dropped: f64 = stage["drops"].as_object().unwrap().values().map(|count| count.as_f64().unwrap()).sum();
        let copied = stage["counts"]["copied"].as_f64().unwrap_or(0.0);
        let entered = stage["packets_passed"].as_f64().unwrap() + dropped - copied;
        (entered, stage[section][key].as_f64().unwrap_or(0.0))
    }

    /// A field of each packet at one tap, by another reader of packets.
    fn fields(&self, interface: u32, from: &str, field: &str) -> Vec<String> {
        let mut tshark = std::process::Command::new("tshark");
        tshark.arg("-r").arg(self.folder.join("wire.pcapng"));
        tshark.args([
            "-Y",
            &format!("frame.interface_id == {interface} && ip.src == {from}"),
            "-T",
            "fields",
            "-e",
            field,
        ]);
        let result = output_of(&mut tshark);
        assert_eq!(result.status, Some(0), "{}", result.errors);
        // The second tap keeps the first bytes only, which tell packets apart.
        result.output.lines().map(|line| line.chars().take(60).collect()).collect()
    }
}

const SERVER: &str = "193.167.100.100";

/// Within five standard deviations of a binomial distribution.
fn is_binomial((count, hits): (f64, f64), probability: f64) -> bool {
    let deviation = (count * probability * (1.0 - probability)).sqrt();
    count > 1000.0 && hits > 0.0 && (hits - count * probability).abs() <= 5.0 * deviation
}

#[test]
fn independent_loss_has_its_probability_and_both_taps_see_it() {
    if !has_program("tshark", "tshark") {
        return;
    }
    let seen = only("loss");
    let counted = seen.counted("to_client", "loss", "drops", "random_loss");
    assert!(is_binomial(counted, 0.01), "{counted:?}");
    let [sent, arrived] = [0, 1].map(|tap| seen.fields(tap, SERVER, "frame.len").len() as f64);
    let queued: f64 = seen.counted("to_client", "rate", "drops", "queue_full").1;
    assert_eq!(sent - arrived, counted.1 + queued);
    assert_eq!(seen.metrics["metrics"]["drops_packets"].as_f64(), Some(counted.1 + queued), "{}", seen.metrics);
}

#[test]
fn burst_loss_has_the_mean_of_its_channel() {
    let seen = only("loss-burst");
    let (count, lost) = seen.counted("to_client", "loss", "drops", "burst_loss");
    let mean = 0.0051 / (0.0051 + 0.25);
    // Bursts of 4 on average make the variance some 7 times that of independent losses.
    let deviation = (7.0 * count * mean * (1.0 - mean)).sqrt();
    assert!(count > 1000.0 && (lost - count * mean).abs() < 5.0 * deviation && lost > 0.0, "{lost} of {count}");
}

#[test]
fn a_rule_drops_every_fiftieth_packet() {
    let (count, lost) = only("loss-rule").counted("to_client", "loss", "drops", "rule");
    assert_eq!(lost, (count / 50.0).floor());
    assert!(count > 1000.0);
}

#[test]
fn packets_that_are_held_back_are_overtaken() {
    if !has_program("tshark", "tshark") {
        return;
    }
    let seen = only("reorder");
    let payloads = |tap| seen.fields(tap, "193.167.0.100", "udp.payload");
    let (sent, arrived) = (payloads(1), payloads(0));
    assert_eq!(sent.len(), arrived.len());
    let mut sorted = [sent.clone(), arrived.clone()];
    sorted.iter_mut().for_each(|list| list.sort());
    assert!(sorted[0] == sorted[1], "found other packets, expected the same ones");
    assert!(sent != arrived, "found the same order, expected another");
}

#[test]
fn jitter_stays_within_its_bounds_and_keeps_the_order() {
    if !has_program("tshark", "tshark") {
        return;
    }
    let seen = only("jitter");
    let rtt = |name: &str| seen.metrics["metrics"][name].as_f64().unwrap();
    assert!(rtt("rtt_min_ns") >= 40e6, "{}", seen.metrics);
    let payloads = |tap| seen.fields(tap, SERVER, "udp.payload");
    let (sent, arrived) = (payloads(0), payloads(1));
    // What arrives is in the order in which it was sent, without what was dropped.
    let mut rest = sent.iter();
    assert!(arrived.iter().all(|packet| rest.any(|other| other == packet)));
    let plain = run("jitter", &["--set", "path.to_client.jitter.mean=0 ms"]).remove(0);
    let median = |seen: &Seen| seen.metrics["metrics"]["rtt_median_ns"].as_f64().unwrap();
    assert!(median(&seen) > median(&plain), "{} {}", median(&seen), median(&plain));
}

#[test]
fn copies_are_as_many_as_asked_for() {
    if !has_program("tshark", "tshark") {
        return;
    }
    let seen = only("duplicate");
    let counted = seen.counted("to_client", "duplicate", "counts", "copied");
    assert!(is_binomial(counted, 0.02), "{counted:?}");
    let mut arrived = seen.fields(1, SERVER, "udp.payload");
    let count = arrived.len();
    arrived.sort();
    arrived.dedup();
    assert_eq!((count - arrived.len()) as f64, counted.1);
}

#[test]
fn flipped_bits_are_on_the_wire_and_stop_the_packet() {
    if !has_program("tshark", "tshark") {
        return;
    }
    let seen = only("bit-errors");
    let (count, corrupted) = seen.counted("to_client", "bit_errors", "counts", "corrupted");
    let bytes = seen.fields(1, SERVER, "frame.len").iter().map(|length| length.parse::<f64>().unwrap()).sum::<f64>();
    // Nearly all packets have the same length, so the mean is that of all bits.
    let probability = 1.0 - (1.0 - 1e-6_f64).powf(8.0 * bytes / count);
    assert!(is_binomial((count, corrupted), probability), "{corrupted} of {count}, {probability}");
}

#[test]
fn a_trace_gives_its_mean_rate() {
    if !has_program("tshark", "tshark") {
        return;
    }
    let seen = only("rate-trace");
    let times = seen.fields(1, SERVER, "frame.time_epoch");
    let lengths = seen.fields(1, SERVER, "frame.len");
    let time = |index: usize| times[index].parse::<f64>().unwrap();
    let last = times.len() - 1;
    // Half of the transfer, when the queue is never empty.
    let (from, to) = (last / 4, last * 3 / 4);
    let bits: f64 = lengths[from + 1..=to].iter().map(|length| length.parse::<f64>().unwrap() * 8.0).sum();
    let rate = bits / (time(to) - time(from));
    // 25 opportunities of 1504 bytes in 40 ms; half a period is the error of the ends.
    assert!((rate / 7.52e6 - 1.0).abs() < 0.03, "{rate}");
}

#[test]
fn a_delay_that_changes_is_seen_at_its_times() {
    let seen = only("delay-trace");
    let rtt = |name: &str| seen.metrics["metrics"][name].as_f64().unwrap();
    assert!(rtt("rtt_min_ns") < 55e6 && rtt("rtt_min_ns") >= 40e6, "{}", seen.metrics);
    assert!(rtt("rtt_p95_ns") >= 55e6, "{}", seen.metrics);
}

#[test]
fn every_queue_discipline_and_every_named_path_carries_a_transfer() {
    let all = run("queues", &[]);
    assert_eq!(all.len(), 6);
    for seen in &all {
        let goodput = seen.metrics["metrics"]["goodput_wire_bps"].as_f64().unwrap();
        assert!(goodput > 4e6 && goodput < 10e6, "{}: {goodput}", seen.folder.display());
    }
    let all = run("real-paths", &[]);
    let least: Vec<f64> =
        all.iter().map(|seen| seen.metrics["metrics"]["rtt_min_ns"].as_f64().unwrap() / 1e6).collect();
    // The names of the records are in the order of the names of the paths.
    for (found, least) in least.iter().zip([20.0, 66.0, 600.0]) {
        assert!(*found >= least && *found < least * 1.2 + 5.0, "{found} {least}");
    }
}

#[test]
fn a_stage_that_the_kernel_cannot_do_is_refused_before_anything_is_built() {
    let bench = Bench::new("");
    let mut command = quiclab();
    command.arg("run").arg(format!("{EXPERIMENTS}/examples/bit-errors.toml"));
    command.args(["--stacks", concat!(env!("CARGO_MANIFEST_DIR"), "/../../stacks")]).arg("--out").arg(bench.out("out"));
    command.args(["--set", "path.forwarder=kernel"]);
    let result = output_of(&mut command);
    assert_ne!(result.status, Some(0));
    assert!(
        result.errors.contains("path.to_client: stage \"bit_errors\": the kernel of the virtual machine"),
        "{}",
        result.errors
    );
    assert!(
        result.errors.contains("--testbed sim") && !bench.out("out").join("runs.parquet").exists(),
        "{}",
        result.errors
    );
}

/// What the kernel does, in one run: losses by chance, a link's queue, delays, and packets that are overtaken.
const IN_THE_KERNEL: &str = r#"
name = "kernel"
title = "Stages in the kernel"
[workload]
size = "2 MiB"
[stack]
name = "ngtcp2"
[path]
to_client = [
    { stage = "loss", model = "independent", probability = 0.02 },
    { stage = "queue", discipline = "drop_tail", limit = "100 packets" },
    { stage = "rate", rate = "20 Mbit/s", burst = "2 kB" },
    { stage = "delay", delay = "15 ms" },
]
to_server = [
    { stage = "loss", name = "channel", model = "burst", to_bad = 0.02, to_good = 0.5 },
    { stage = "delay", delay = "10 ms" },
    { stage = "reorder", probability = 0.1, hold = "3 ms" },
]
"#;

#[test]
fn the_kernel_of_the_virtual_machine_does_its_stages() {
    if !has_program("tshark", "tshark") {
        return;
    }
    let bench = Bench::new(IN_THE_KERNEL);
    let result = output_of(&mut bench.run(common::REAL_STACKS, "out", &[]));
    assert_eq!(result.status, Some(0), "{}{}", result.output, result.errors);
    let folder = bench.out("out").join(records(&bench.out("out")).remove(0));
    let read = |file: &str| serde_json::from_slice(&std::fs::read(folder.join(file)).unwrap()).unwrap();
    let seen = Seen { path: read("path.json"), metrics: read("metrics.json"), folder: folder.clone() };
    let counted = seen.counted("to_client", "loss", "drops", "random_loss");
    assert!(is_binomial(counted, 0.02), "{counted:?}");
    let (count, lost) = seen.counted("to_server", "channel", "drops", "burst_loss");
    let mean = 0.02 / 0.52;
    // Bursts of 2 on average make the variance some 3 times that of independent losses.
    let deviation = (3.0 * count * mean * (1.0 - mean)).sqrt();
    assert!(count > 300.0 && lost > 0.0 && (lost - count * mean).abs() < 5.0 * deviation, "{lost} of {count}");
    assert!(seen.metrics["metrics"]["rtt_min_ns"].as_f64().unwrap() >= 25e6, "{}", seen.metrics);
    let payloads = |tap| seen.fields(tap, "193.167.0.100", "udp.payload");
    let (sent, arrived) = (payloads(1), payloads(0));
    assert_eq!(sent.len() as f64 - arrived.len() as f64, lost);
    let kept: Vec<_> = sent.into_iter().filter(|packet| arrived.contains(packet)).collect();
    assert!(kept.len() == arrived.len() && kept != arrived, "found the same order, expected another");
}
