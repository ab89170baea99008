//! The verbs that write.

use std::{fs, process::Command};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::place::Place;
use crate::common::{REAL_STACKS, TEST_STACKS, output_of};
use quiclab_testing::files::capture;

/// A verb.
pub struct Case {
    pub name: &'static str,
    /// How often it is chosen, compared with the others.
    pub weight: u64,
    /// Makes what the command reads.
    pub prepare: fn(&Place),
    pub command: fn(&Place) -> Command,
    /// Ends of names of files that differ from one time to the next, such as those with the time of day.
    pub varies: &'static [&'static str],
}

/// Those that need no virtual machine and no package.
pub const QUICK: [&str; 4] = ["run-models", "perform", "analyze-parquet", "report"];

const MODELS: &str = "name = \"small\"\ntitle = \"Small\"\n[scenario]\nduration = \"2 s\"\nrepetitions = 6\n\
    [bottleneck]\nrate = \"5 Mbit/s\"\n[flows]\ncount = 2\n[matrix]\n\"bottleneck.buffer_bdp\" = [0.5, 1]\n[[figure]]\ntitle = \"Goodput\"\ny = \"goodput_bps\"\n";
const TRANSFERS: &str = "name = \"transfers\"\ntitle = \"Transfers\"\n[stack]\nname = \"misbehaving\"\n[workload]\nsize = \"64 KiB\"\nrepetitions = 3\n";
const SANS_IO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sans-io");

pub fn all() -> &'static [Case] {
    &[
        // So few runs that each call of the system can be tried.
        Case { name: "run-few", weight: 0, prepare: few_models, command: run, varies: &[] },
        Case { name: "run-models", weight: 20, prepare: models, command: run, varies: &[] },
        Case { name: "perform", weight: 10, prepare: resolved, command: perform, varies: &[] },
        Case { name: "report", weight: 10, prepare: results, command: report, varies: &[] },
        Case { name: "analyze-parquet", weight: 20, prepare: |_| {}, command: analyze, varies: &[] },
        Case { name: "stacks-import", weight: 15, prepare: image, command: import, varies: &[] },
        Case { name: "stacks-build", weight: 10, prepare: |_| {}, command: build, varies: &["/made", "/from"] },
        Case { name: "run-sans-io", weight: 15, prepare: sans_io, command: run_sans_io, varies: &[] },
        Case { name: "run-vm", weight: 10, prepare: transfers, command: run, varies: &[] },
        Case {
            name: "interop",
            weight: 3,
            prepare: |_| {},
            command: interop,
            varies: &["matrix.json", "result.json", ".html"],
        },
    ]
}

fn write(place: &Place, name: &str, text: &str) {
    fs::write(place.path("input").join(name), text).unwrap();
}

fn models(place: &Place) {
    write(place, "experiment.toml", MODELS);
}

fn few_models(place: &Place) {
    write(place, "experiment.toml", &MODELS.replace("repetitions = 6", "repetitions = 1"));
}

fn transfers(place: &Place) {
    write(place, "experiment.toml", TRANSFERS);
}

fn run(place: &Place) -> Command {
    let mut command = place.quiclab(&["run", "input/experiment.toml", "-j", "2", "--stacks", TEST_STACKS, "--out"]);
    command.arg(place.out());
    command
}

fn sans_io(place: &Place) {
    let text = TRANSFERS.replace("misbehaving", "quinn");
    write(place, "experiment.toml", &text);
}

fn run_sans_io(place: &Place) -> Command {
    let words = ["run", "input/experiment.toml", "--testbed", "sim", "--stacks", SANS_IO, "--parquet", "--out"];
    let mut command = place.quiclab(&words);
    command.arg(place.out());
    command
}

/// One run, resolved.
fn resolved(place: &Place) {
    models(place);
    let dry = output_of(&mut place.quiclab(&["run", "input/experiment.toml", "--dry-run", "--json"]));
    let runs: serde_json::Value = serde_json::from_str(&dry.output).unwrap();
    write(place, "run.json", &runs[0].to_string());
}

fn perform(place: &Place) -> Command {
    let mut command = place.quiclab(&["tools", "perform", "input/run.json", "--record"]);
    command.arg(place.out());
    command
}

/// Results, whose report is made again and again.
fn results(place: &Place) {
    few_models(place);
    let made = place.path("input/results");
    let done = output_of(place.quiclab(&["run", "input/experiment.toml", "--out"]).arg(&made));
    assert_eq!(done.status, Some(0), "{}", done.errors);
}

/// The figures are new files; the report takes the place of an earlier one, and is read back by `check` at the next start.
fn report(place: &Place) -> Command {
    let mut command = place.quiclab(&["report", "input/results", "--figures"]);
    command.arg(place.out());
    command
}

fn analyze(place: &Place) -> Command {
    let captures = ["quiche", "ngtcp2", "quic-go"].map(capture);
    let mut command = place.quiclab(&["analyze", "--parquet"]);
    command.arg(place.out()).arg(&captures[0]);
    command
}

fn build(place: &Place) -> Command {
    place.quiclab(&["stacks", "build", "misbehaving", "--stacks", TEST_STACKS])
}

fn interop(place: &Place) -> Command {
    let words =
        ["interop", "--server", "ngtcp2", "--client", "ngtcp2", "--case", "handshake,retry", "--stacks", REAL_STACKS];
    let mut command = place.quiclab(&words);
    command.arg("--out").arg(place.out());
    command
}

fn import(place: &Place) -> Command {
    place.quiclab(&["stacks", "import", "input/image.tar", "--name", "image", "--stacks", REAL_STACKS])
}

/// A container image as `docker save` wrote them: one layer of some megabytes, so that there is time to be killed in.
fn image(place: &Place) {
    let hex = |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let add = |tar: &mut tar::Builder<Vec<u8>>, name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o755);
        tar.append_data(&mut header, name, bytes).unwrap();
    };
    let mut layer = tar::Builder::new(Vec::new());
    add(&mut layer, "run.sh", b"#!/bin/sh\nexit 127\n");
    for number in 0..64_u64 {
        let bytes: Vec<u8> = (0..1_u64 << 16).map(|place| (place * (number + 3) % 251) as u8).collect();
        add(&mut layer, &format!("data/{number}"), &bytes);
    }
    let layer = layer.into_inner().unwrap();
    let config = json!({
        "architecture": "amd64", "os": "linux",
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", hex(&layer))] },
        "config": { "Entrypoint": ["/run.sh"], "Env": [], "WorkingDir": "/" },
    });
    let config = config.to_string().into_bytes();
    let name = format!("{}.json", hex(&config));
    let manifest = json!([{ "Config": name, "RepoTags": ["lab/image:latest"], "Layers": ["layer.tar"] }]).to_string();
    let mut archive = tar::Builder::new(Vec::new());
    add(&mut archive, &name, &config);
    add(&mut archive, "layer.tar", &layer);
    add(&mut archive, "manifest.json", manifest.as_bytes());
    fs::write(place.path("input/image.tar"), archive.into_inner().unwrap()).unwrap();
}
