//! A stack that quiclab does not ship, taken through the steps of docs/guides/add-a-stack.md and of docs/guides/regression-gate.md.
//!
//! It is quinn with a frame that nobody knows first in every 1-RTT packet, and with a pacer whose bucket holds 16 packets; options
//! of its build leave the frame out, and make the bucket smaller. Some minutes: `make own-stack`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::{CommandOutput, REAL_STACKS, output_of, quiclab, records};
use serde_json::Value;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/own-stack");
const EXPERIMENT: &str = r#"
name = "tests/own-stack"
title = "A stack that is not shipped"
[workload]
size = "64 KiB"
files = 20
streams = 1 # one file after the other, so that the bucket is full whenever one begins
[matrix]
"stack.name" = ["own-stack", "own-stack frame=none", "own-stack bucket=4 frame=none"]
"#;
const GATE: &str = r#"
name = "gate"
title = "What we promise about pacing"
[workload]
size = "64 KiB"
files = 20
streams = 1
repetitions = 2
[[expect]]
claim = "no train has more than ten packets"
metric = "train_max_packets"
at_most = 10
"#;

/// What rests on frames.
const ON_FRAMES: [&str; 5] = ["packets_lost", "acks_received", "rtt_median_ns", "bytes_in_flight_max", "stream_bytes"];
/// What rests on frames and is measured only where a bucket shows.
const ON_BUCKETS: [&str; 2] = ["pacing_bucket_packets", "burst_share_bucket"];
/// What rests on times and lengths alone.
const ON_TIMES: [&str; 3] = ["packets_sent", "train_max_packets", "gap_median_ns"];

/// The stack, outside of quiclab's tree.
struct Outside {
    folder: tempfile::TempDir,
}

impl Outside {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Its endpoint is that of stacks/quinn, by links.
        let copied = Command::new("cp").arg("-rL").arg(SOURCE).arg(folder.path().join("own-stack")).status().unwrap();
        assert!(copied.success());
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `quiclab VERB...` with this stack.
    fn quiclab(&self, words: &[&str]) -> CommandOutput {
        let mut command = quiclab();
        command.args(words).args(["--stacks", REAL_STACKS, "--stack"]).arg(self.path("own-stack"));
        output_of(command.current_dir(self.folder.path()))
    }
}

#[test]
#[ignore = "builds quinn three times"]
fn a_stack_that_is_not_shipped_goes_through_every_step_of_the_guides() {
    let outside = Outside::new();
    it_is_listed(&outside);
    it_is_tried(&outside);
    it_is_checked(&outside);
    a_shipped_experiment_measures_it(&outside);
    interop_judges_what_it_can_read(&outside);
    its_numbers_are_those_that_can_be_known(&outside);
    the_gate_lets_the_small_bucket_pass_and_stops_the_large_one(&outside);
}

fn it_is_listed(outside: &Outside) {
    let result = outside.quiclab(&["stacks", "list", "own-stack"]);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    assert!(
        result.output.contains("build option frame") && result.output.contains("strange, none"),
        "{}",
        result.output
    );
}

fn it_is_tried(outside: &Outside) {
    let mut command = quiclab();
    command.args(["stacks", "try"]).arg(outside.path("own-stack")).arg("--out").arg(outside.path("try"));
    let result = output_of(&mut command);
    assert_eq!(result.status, Some(0), "{}\n{}", result.output, result.errors);
    for line in ["TESTCASE=retry works over h3: the files are complete", "refuses TESTCASE=v2: exit status 127"] {
        assert!(result.output.contains(line), "no line {line:?} in\n{}", result.output);
    }
}

fn it_is_checked(outside: &Outside) {
    let claims = [
        "--claim",
        "transfer",
        "--claim",
        "gso",
        "--claim",
        "congestion-control-reno",
        "--claim",
        "refuses-server-TESTCASE",
    ];
    let result = outside.quiclab(&[&["stacks", "check", "own-stack", "--out", "check"], &claims[..]].concat());
    assert_eq!(result.status, Some(0), "{}\n{}", result.output, result.errors);
    for part in
        ["server qlog with ", "segmentation offload is off", "congestion control reno is used", "claims pass, 0 fail"]
    {
        assert!(result.output.contains(part) || result.errors.contains(part), "no {part:?} in\n{}", result.output);
    }
    assert!(outside.path("check/own-stack/gso-off").is_dir());
}

fn a_shipped_experiment_measures_it(outside: &Outside) {
    let file = format!("{REAL_STACKS}/../experiments/stacks/default-behaviour.toml");
    let short = ["--reps", "1", "--set", "workload.size=\"1 MiB\"", "--out", "results/default"];
    let result = outside.quiclab(&[&["run", &file], &short[..]].concat());
    assert_eq!(result.status, Some(0), "{}", result.errors);
    assert_eq!(records(&outside.path("results/default")).len(), 1, "{}", result.errors);
}

fn interop_judges_what_it_can_read(outside: &Outside) {
    for (stack, unknown) in [("own-stack", 1), ("own-stack frame=none", 0)] {
        let out = format!("results/interop-{unknown}");
        let pair = ["interop", "--server", stack, "--client", stack, "--case", "handshake,multiplexing", "--out", &out];
        let result = outside.quiclab(&pair);
        assert_eq!(result.status, Some(unknown), "{}\n{}", result.output, result.errors);
        let is_said =
            result.output.contains("CANNOT BE JUDGED multiplexing") && result.output.contains("frame type 127651");
        assert_eq!(is_said, unknown == 1, "{}", result.output);
    }
}

fn its_numbers_are_those_that_can_be_known(outside: &Outside) {
    fs::write(outside.path("experiment.toml"), EXPERIMENT).unwrap();
    let result = outside.quiclab(&["run", "experiment.toml", "--out", "results/first"]);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let runs = runs(&outside.path("results/first"));
    let [strange, plain, small] =
        ["own-stack", "own-stack frame=none", "own-stack bucket=4 frame=none"].map(|name| &runs[name]);
    // An unknown frame hides what is behind it: no number is better than a wrong one.
    let warning = warning(strange, "frames_unknown").expect("a warning of unknown frames");
    for part in ["127651", "packets_lost"] {
        assert!(warning.contains(part), "no {part:?} in {warning}");
    }
    for name in ON_FRAMES.into_iter().chain(ON_BUCKETS) {
        assert!(strange["metrics"][name].is_null(), "{name}: {}", strange["metrics"][name]);
    }
    assert_eq!(warning_codes(plain, "frames_"), [""; 0]);
    for name in ON_FRAMES {
        assert!(plain["metrics"][name].as_f64().is_some(), "{name} is missing");
    }
    for (run, name) in [strange, plain, small].into_iter().flat_map(|run| ON_TIMES.map(|name| (run, name))) {
        assert!(run["metrics"][name].as_f64().is_some(), "{name} is missing");
    }
    assert!(plain["metrics"]["stream_bytes"].as_f64().unwrap() >= 20.0 * 65_536.0);
    // A full bucket leaves at once, also behind a frame that cannot be read, and a packet or two that fill it meanwhile.
    let longest = |run: &Value| run["metrics"]["train_max_packets"].as_f64().unwrap();
    for (run, packets) in [(strange, 16.0), (plain, 16.0), (small, 4.0)] {
        assert!((packets..packets + 4.0).contains(&longest(run)), "{} packets of a bucket of {packets}", longest(run));
    }
}

fn the_gate_lets_the_small_bucket_pass_and_stops_the_large_one(outside: &Outside) {
    fs::write(outside.path("gate.toml"), GATE).unwrap();
    let (small, large) = ("stack.name=own-stack bucket=4 frame=none", "stack.name=own-stack frame=none");
    for (a, b, broken, verdict) in [(small, large, 1, "burstier"), (large, small, 0, "smoother")] {
        let out = format!("results/gate-{broken}");
        let mut command = quiclab();
        command.args(["ab", "own-stack", "gate.toml", "--a", a, "--b", b, "--stacks", REAL_STACKS, "--out", &out]);
        command.args(["--fail-if", "train_share_of_packets_le_5 < -50%", "--strict"]);
        let result = output_of(command.current_dir(outside.folder.path()));
        assert_eq!(result.status, Some(broken), "{b}\n{}\n{}", result.output, result.errors);
        assert!(result.output.contains(verdict), "no {verdict:?} in\n{}", result.output);
        let result = output_of(quiclab().arg("check").arg(outside.path(&out).join("b")));
        assert_eq!(result.status, Some(broken), "{b}\n{}\n{}", result.output, result.errors);
    }
}

/// `metrics.json` of each record, by the stack's name.
fn runs(results: &Path) -> BTreeMap<String, Value> {
    let names = records(results);
    let run = |name: &String| {
        let read = |file: &str| fs::read_to_string(results.join(name).join(file)).unwrap();
        let identity: toml::Value = toml::from_str(&read("run.toml")).unwrap();
        let server = find(&identity, "server").expect("run.toml names its server");
        (server, serde_json::from_str(&read("metrics.json")).unwrap())
    };
    names.iter().map(run).collect()
}

/// The text of `stack.server`, wherever `stack` is.
fn find(table: &toml::Value, key: &str) -> Option<String> {
    let table = table.as_table()?;
    let here = table.get("stack").and_then(|stack| stack.get(key)).and_then(toml::Value::as_str);
    here.map(str::to_owned).or_else(|| table.values().find_map(|value| find(value, key)))
}

fn warning(run: &Value, code: &str) -> Option<String> {
    let warnings = run["warnings"].as_array()?;
    let found = warnings.iter().find(|warning| warning["code"] == code)?;
    Some(found["message"].as_str()?.to_owned())
}

fn warning_codes(run: &Value, start: &str) -> Vec<String> {
    let codes = run["warnings"].as_array().into_iter().flatten().filter_map(|warning| warning["code"].as_str());
    codes.filter(|code| code.starts_with(start)).map(str::to_owned).collect()
}
