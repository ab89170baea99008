//! docs/guides/regression-gate.md and gate.yml, run as they are written.

use std::{fs, os::unix::fs::symlink, path::PathBuf, process::Command};

use crate::common::endpoint::{regressed, write_endpoint};
use crate::common::{CommandOutput, REAL_STACKS, output_of, path_with};

const GUIDE: &str = include_str!("../../../../docs/guides/regression-gate.md");
const WORKFLOW: &str = include_str!("../../../../docs/guides/gate.yml");

/// The only block of the guide in this language that has the text.
fn block(language: &str, text: &str) -> &'static str {
    let fence = format!("\n```{language}\n");
    let all = GUIDE.split(&fence).skip(1).map(|rest| rest.split("\n```").next().unwrap());
    let found: Vec<_> = all.filter(|block| block.contains(text)).collect();
    let [only] = found[..] else { panic!("{} blocks with {text:?}", found.len()) };
    only
}

/// The script of a step of the workflow.
fn step(name: &str) -> String {
    let (_, rest) = WORKFLOW.split_once(&format!("- name: {name}\n")).unwrap_or_else(|| panic!("no step {name}"));
    let step = rest.split("\n      - ").next().unwrap();
    let (_, script) = step.split_once("run: ").unwrap_or_else(|| panic!("{name} runs nothing"));
    match script.strip_prefix("|\n") {
        Some(lines) => lines.lines().map(|line| format!("{}\n", line.trim_start())).collect(),
        None => script.to_owned(),
    }
}

/// A folder as a reader of the guide has it: a clone of quiclab with its stacks, and two builds of an endpoint.
struct Reader {
    folder: tempfile::TempDir,
}

impl Reader {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let reader = Self { folder };
        let program = reader.path("bin");
        fs::create_dir(&program).unwrap();
        symlink(env!("CARGO_BIN_EXE_quiclab"), program.join("quiclab")).unwrap();
        symlink(REAL_STACKS, reader.path("stacks")).unwrap();
        fs::write(reader.path("gate.toml"), block("toml", "name = \"gate\"")).unwrap();
        for build in ["main", "pr"] {
            write_endpoint(&reader.path(build), |program| program);
        }
        reader
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn shell(&self, script: &str) -> CommandOutput {
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", script]).current_dir(self.folder.path()).env("PATH", path_with(&self.path("bin")));
        shell.env("GITHUB_STEP_SUMMARY", self.path("summary.md"));
        output_of(&mut shell)
    }
}

#[test]
fn the_commands_of_the_guide_find_a_regression() {
    let reader = Reader::new();
    write_endpoint(&reader.path("pr"), regressed);
    let [compare, repeat, check, alone, diff] =
        ["--markdown ab.md", "--until-decided", "check results/b", "--stack ./pr", "quiclab diff"]
            .map(|text| block("sh", text));
    let result = reader.shell(compare);
    assert_eq!(result.status, Some(2), "{}{}", result.output, result.errors);
    assert!(result.output.contains("burstier") && result.output.contains("slower"), "{}", result.output);
    assert!(result.output.contains("the longest train of B, which is burstier"), "{}", result.output);
    let table = fs::read_to_string(reader.path("ab.md")).unwrap();
    assert!(table.contains("**FAILS**: fail if `train_max_packets > 1.05x`"), "{table}");
    assert!(reader.path("ab.html").is_file());
    let result = reader.shell(repeat);
    assert_eq!(result.status, Some(1), "{}{}", result.output, result.errors);
    assert!(result.errors.contains("3 of 3 runs have a record already"), "{}", result.errors);
    // The shares of the pull request are too low, and the bottleneck drops few packets still.
    let result = reader.shell(check);
    assert_eq!(result.status, Some(1), "{}{}", result.output, result.errors);
    assert!(result.output.contains("FAILS         at least nine of ten packets"), "{}", result.output);
    let result = reader.shell(diff);
    assert_eq!(result.status, Some(1), "{}{}", result.output, result.errors);
    assert!(result.output.contains("the first packet that differs is number"), "{}", result.output);
    let result = reader.shell(alone);
    assert_eq!(result.status, Some(1), "{}{}", result.output, result.errors);
}

/// With fewer repetitions and fewer settings than the guide has.
#[test]
fn the_gate_of_handshakes_compares_two_stacks() {
    let reader = Reader::new();
    for folder in ["experiments", "sans-io"] {
        symlink(format!("{REAL_STACKS}/../{folder}"), reader.path(folder)).unwrap();
    }
    let handshakes = block("sh", "--testbed sim");
    let fewer = "--reps 2 --set 'path.to_client.rtt.delay=40 ms' --set path.to_client.loss.probability=0.0 --out";
    let result = reader.shell(&handshakes.replace("--out", fewer));
    assert_eq!(result.status, Some(0), "{}{}", result.output, result.errors);
    let text = fs::read_to_string(reader.path("handshakes.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    // Three chains, with the first flight lost and not.
    let cells = all["handshakes"]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 6, "{text}");
    assert!(cells.iter().all(|cell| cell["tried"] == serde_json::json!([2, 2])), "{text}");
    assert_eq!(all["handshakes"]["completed"], serde_json::json!([12, 12]));
}

#[test]
fn the_steps_of_the_workflow_pass_a_build_that_changes_nothing_and_stop_a_regression() {
    let reader = Reader::new();
    // What the steps before leave behind.
    let program = reader.path("quiclab/target/x86_64-unknown-linux-gnu/release");
    fs::create_dir_all(&program).unwrap();
    symlink(env!("CARGO_BIN_EXE_quiclab"), program.join("quiclab")).unwrap();
    symlink(REAL_STACKS, reader.path("quiclab/stacks")).unwrap();
    fs::copy(reader.path("gate.toml"), reader.path("pr/gate.toml")).unwrap();
    let result = reader.shell(&step("Compare"));
    assert_eq!(result.status, Some(0), "{}{}", result.output, result.errors);
    assert!(result.output.contains("A and B consist of the same bytes"), "{}", result.output);
    assert_eq!(reader.shell(&step("Promises")).status, Some(0));
    write_endpoint(&reader.path("pr"), regressed);
    let result = reader.shell(&step("Compare"));
    assert_eq!(result.status, Some(2), "{}{}", result.output, result.errors);
    assert_eq!(reader.shell(&step("Promises")).status, Some(1));
    let result = reader.shell(&step("Summary"));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    assert!(fs::read_to_string(reader.path("summary.md")).unwrap().contains("FAILS"));
}

#[test]
fn the_workflow_keeps_the_cache_that_quiclab_uses() {
    assert!(WORKFLOW.contains("uses: actions/cache@v4"));
    assert!(WORKFLOW.contains("path: ${{ env.QUICLAB_CACHE }}"));
    assert!(WORKFLOW.contains("QUICLAB_CACHE: /tmp/quiclab"));
}
