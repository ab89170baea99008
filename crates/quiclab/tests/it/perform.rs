//! `quiclab tools perform`: one resolved run, as the dry run prints it.

use crate::common;
use std::{fs, io::Write, path::Path, process::Stdio};

use crate::common::{Bench, TEST_STACKS, output_of, quiclab, records};
use serde_json::Value;

const EXPERIMENT: &str = r#"
name = "tests/perform"
title = "Small transfers"
[stack]
name = "misbehaving"
[workload]
size = "64 KiB"
repetitions = 2
"#;

/// The resolved runs of the experiment.
fn resolved(bench: &Bench) -> Vec<Value> {
    let result = output_of(&mut bench.run(TEST_STACKS, "unused", &["--dry-run", "--json"]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    assert!(!bench.out("unused").exists(), "a dry run writes nothing");
    serde_json::from_str(&result.output).unwrap()
}

fn perform(run: &Path, record: &Path, more: &[&str]) -> common::CommandOutput {
    let mut command = quiclab();
    command.args(["tools", "perform"]).arg(run).arg("--record").arg(record).args(["--stacks", TEST_STACKS]).args(more);
    output_of(&mut command)
}

/// What is changed about a run file.
type Change<'a> = &'a dyn Fn(&mut Value);

const FILES: [&str; 4] = ["wire.pcapng", "metrics.json", "run.toml", "path.json"];

fn files(record: &Path) -> [Vec<u8>; 4] {
    FILES.map(|name| fs::read(record.join(name)).unwrap_or_else(|error| panic!("{}/{name}: {error}", record.display())))
}

#[test]
fn a_run_of_the_dry_run_leaves_the_record_that_run_would_leave() {
    let bench = Bench::new(EXPERIMENT);
    let runs = resolved(&bench);
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0]["testbed"], "vm");
    let file = bench.folder.path().join("run.json");
    fs::write(&file, runs[0].to_string()).unwrap();
    let record = bench.out("out/below/one");
    let result = perform(&file, &record, &["--json"]);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let result: Value = serde_json::from_str(&result.output).unwrap();
    assert_eq!((&result["performed"], &result["testbed"]), (&Value::Bool(true), &"vm".into()));
    assert!(result["metrics"]["goodput_wire_bps"].as_f64().unwrap() > 1e6);

    // Once more: it is there. From its own run.toml, under another name: the same bytes.
    let again = perform(&file, &record, &[]);
    assert_eq!((again.status, again.output.trim()), (Some(0), record.display().to_string().as_str()));
    assert!(again.errors.contains("already exists"), "{}", again.errors);
    let copy = bench.out("copy");
    let result = perform(&record.join("run.toml"), &copy, &[]);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    assert!(files(&copy) == files(&record));
    let verify = || output_of(quiclab().arg("verify").arg(&copy).args(["--stacks", TEST_STACKS]));
    let verified = verify();
    assert_eq!(verified.status, Some(0), "{}{}", verified.output, verified.errors);
    // A record of a testbed that this quiclab does not have.
    let file_of_copy = copy.join("run.toml");
    let text = fs::read_to_string(&file_of_copy).unwrap();
    assert!(text.contains("testbed = \"vm\""));
    fs::write(&file_of_copy, text.replace("testbed = \"vm\"", "testbed = \"zz\"")).unwrap();
    assert_eq!(verify().status, Some(1), "the file was changed after it was written");
    quiclab_record::Contents::write(&copy).unwrap();
    let verified = verify();
    assert_eq!(verified.status, Some(125));
    for part in ["run.toml", "found \"zz\", expected one of vm, sim"] {
        assert!(verified.errors.contains(part), "{}", verified.errors);
    }

    // `run` finds what `perform` has made, whatever its name, and performs the rest.
    let out = bench.out("out/below");
    let result = output_of(&mut bench.run(TEST_STACKS, "out/below", &[]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    assert!(result.errors.contains("1 of 2 runs have a record already"), "{}", result.errors);
    assert_eq!(records(&out).len(), 2);
    let report: Value = serde_json::from_slice(&fs::read(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(report["groups"][0]["runs"].as_array().unwrap().len(), 2);

    // The folder of another run, or of something else, is not touched.
    fs::write(&file, runs[1].to_string()).unwrap();
    let before = files(&record);
    let other = perform(&file, &record, &[]);
    assert_eq!(other.status, Some(125));
    assert!(other.errors.contains("found the record of another run"), "{}", other.errors);
    assert!(files(&record) == before);
    let foreign = bench.out("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("thesis.tex"), "x").unwrap();
    let result = perform(&file, &foreign, &[]);
    assert_eq!(result.status, Some(125));
    assert!(result.errors.contains("a folder that is not a record"), "{}", result.errors);
    let result = perform(&file, &bench.out("x-0123456789abcdef"), &[]);
    assert_eq!(result.status, Some(125));
    assert!(result.errors.contains("ends with the identity 0123456789abcdef"), "{}", result.errors);
}

#[test]
fn a_run_comes_from_standard_input_and_a_failure_has_status_1() {
    let bench = Bench::new(&EXPERIMENT.replace("[workload]", "congestion_control = \"client-fails\"\n[workload]"));
    let run = resolved(&bench)[0].to_string();
    let record = bench.out("out/record");
    let mut command = quiclab();
    command.args(["tools", "perform", "-", "--json", "--stacks", TEST_STACKS, "--record"]).arg(&record);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(run.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["record"], Value::Null);
    assert!(result["failure"].as_str().unwrap().contains("the client ended with"), "{result}");
    let kept = Path::new(result["kept"].as_str().unwrap());
    assert!(kept.join("failure.txt").is_file() && kept.join("client").is_dir(), "{result}");
    assert!(!record.exists());
}

#[test]
fn what_is_wrong_with_a_run_file_is_said_before_anything_is_made() {
    let bench = Bench::new(EXPERIMENT);
    let good = resolved(&bench).remove(0);
    let file = bench.folder.path().join("run.json");
    let errors = |change: &dyn Fn(&mut Value)| {
        let mut run = good.clone();
        change(&mut run);
        fs::write(&file, run.to_string()).unwrap();
        let result = perform(&file, &bench.out("out/record"), &[]);
        assert_eq!(result.status, Some(125), "{}", result.errors);
        assert!(!bench.out("out").exists());
        result.errors
    };
    let cases: [(Change, &[&str]); 5] = [
        (&|run| run["testbed"] = "moon".into(), &["run.json: testbed: found \"moon\"", "vm, sim"]),
        (&|run| run["settings"]["stack"]["server"] = "nobody".into(), &["found \"nobody\"", "misbehaving"]),
        (
            &|run| run["settings"]["workload"]["files"] = "x".into(),
            &["run.json: settings", "workload.files: found \"x\""],
        ),
        (&|run| run["sead"] = 1.into(), &["run.json: ", "unknown field `sead`"]),
        (&|run| drop(run.as_object_mut().unwrap().remove("settings")), &["settings: missing", "--dry-run --json"]),
    ];
    for (change, parts) in cases {
        let errors = errors(change);
        assert!(parts.iter().all(|part| errors.contains(part)), "{errors}");
    }
    let result = perform(&bench.file(), &bench.out("out/record"), &[]);
    assert!(result.errors.contains("not an experiment file"), "{}", result.errors);
}

#[test]
fn without_its_agent_a_run_is_refused_with_how_to_get_it() {
    let bench = Bench::new(EXPERIMENT);
    let file = bench.folder.path().join("run.json");
    fs::write(&file, resolved(&bench)[0].to_string()).unwrap();
    // The agent is looked for beside the program.
    let alone = bench.folder.path().join("quiclab");
    fs::copy(env!("CARGO_BIN_EXE_quiclab"), &alone).unwrap();
    let mut command = std::process::Command::new(&alone);
    command.args(["tools", "perform"]).arg(&file).args(["--stacks", TEST_STACKS, "--record"]).arg(bench.out("record"));
    let result = output_of(&mut command);
    assert_eq!(result.status, Some(125), "{}", result.errors);
    assert!(result.errors.contains("quiclab-agent: not found"), "{}", result.errors);
    assert!(result.errors.contains("hint: cargo build"), "{}", result.errors);
    assert!(!bench.out("record").exists());
}
