//! What a run costs this machine, beside the limits it must keep: `make bench`.
//!
//! CPU seconds of QEMU, user and system, and its largest resident memory. The transfer of one byte shows everything but the
//! data phase: QEMU's start, restoring, the topology, the endpoints, collecting.

use std::{fs, process::Command};

use quiclab_metrics::Summary;

/// Size, repetitions, and the most CPU seconds a run may take on a 2-core machine of 2026.
const CASES: &[(&str, u32, f64)] = &[("1 B", 5, 2.0), ("10 MiB", 3, 13.0), ("100 MiB", 1, 115.0)];
/// The most memory a run may take.
const MOST_MEMORY_GIB: f64 = 1.5;

fn main() {
    println!("ngtcp2 to ngtcp2, 40 Mbit/s, one run at a time; median (smallest to largest)");
    println!(
        "{:>10} {:>5} {:>26} {:>8} {:>14} {:>8}",
        "transfer", "runs", "CPU seconds", "limit", "memory, GiB", "limit"
    );
    let mut kept = true;
    for (size, repetitions, limit) in CASES {
        let (seconds, memory) = measure(size, *repetitions);
        let range = format!("{:.2} ({:.2} to {:.2})", seconds.median, seconds.minimum, seconds.maximum);
        println!(
            "{size:>10} {repetitions:>5} {range:>26} {limit:>8} {:>14.2} {MOST_MEMORY_GIB:>8}",
            memory.maximum / f64::from(1 << 30)
        );
        kept &= seconds.median <= *limit && memory.maximum <= MOST_MEMORY_GIB * f64::from(1 << 30);
    }
    println!("{}", if kept { "all limits are kept" } else { "A LIMIT IS NOT KEPT" });
}

/// CPU seconds and resident bytes of each run.
fn measure(size: &str, repetitions: u32) -> (Summary, Summary) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("bench.toml");
    let text = format!(
        "name = \"bench\"\ntitle = \"Cost\"\n[stack]\nname = \"ngtcp2\"\n[workload]\nsize = \"{size}\"\nrepetitions = {repetitions}\n"
    );
    fs::write(&file, text).expect("an experiment file");
    let output = Command::new(env!("CARGO_BIN_EXE_quiclab"))
        .arg("run")
        .arg(&file)
        .args(["--json", "-j", "1", "--stacks", concat!(env!("CARGO_MANIFEST_DIR"), "/../../stacks"), "--out"])
        .arg(folder.path().join("out"))
        .output()
        .expect("quiclab can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let runs = all["performed"].as_array().expect("the cost of each run");
    let values = |name: &str| runs.iter().map(|run| run[name].as_f64().expect("a number")).collect::<Vec<_>>();
    let summary = |name: &str| Summary::of(values(name)).expect("at least one run");
    (summary("cpu_seconds"), summary("resident_bytes"))
}
