//! Experiment files and arguments that are wrong.

use std::fs;

use crate::common::{Bench, TEST_STACKS, output_of, quiclab};

fn refused(experiment: &str) -> String {
    let bench = Bench::new(experiment);
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &[]));
    assert_eq!(result.status, Some(125), "{}", result.errors);
    assert!(!bench.out("out").exists(), "a refused experiment leaves nothing");
    result.errors.replace(&bench.file().display().to_string(), "FILE")
}

#[test]
fn a_key_that_does_not_exist_is_named_with_its_place() {
    let errors = refused("name = \"x\"\ntitle = \"x\"\n[workload]\ntiemout = \"5 s\"\n");
    assert!(errors.contains("FILE:4:1: workload.tiemout: found a key that does not exist"), "{errors}");
    assert!(errors.contains("hint: did you mean workload.timeout?"), "{errors}");
}

#[test]
fn a_wrong_unit_is_named_with_what_is_allowed() {
    let errors = refused("name = \"x\"\ntitle = \"x\"\n[path]\nrate = \"40 Mbps\"\n");
    assert!(
        errors.contains("FILE:4:8: path.rate: found \"40 Mbps\", expected a rate such as \"40 Mbit/s\""),
        "{errors}"
    );
}

#[test]
fn text_that_is_no_toml_is_told_with_its_place() {
    let errors = refused("name = \"x\"\ntitle = [\n");
    assert!(errors.contains("FILE:") && errors.contains("this is not TOML"), "{errors}");
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let bench = Bench::new("");
    fs::write(bench.file(), [0x6e, 0xff, 0xfe]).unwrap();
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &[]));
    assert_eq!(result.status, Some(125));
    assert!(result.errors.contains("found bytes at offset 1 that are not UTF-8"), "{}", result.errors);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let result = output_of(quiclab().args(["run", "no/such.toml", "--stacks", TEST_STACKS]));
    assert_eq!(result.status, Some(125));
    assert!(result.errors.contains("no/such.toml") && result.errors.contains("No such file"), "{}", result.errors);
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    for wrong in [&["run"][..], &["run", "x.toml", "--reps", "0"], &["run", "x.toml", "--filter", "quiche"], &["fly"]] {
        assert_eq!(output_of(quiclab().args(wrong)).status, Some(125), "{wrong:?}");
    }
}

#[test]
fn a_folder_without_results_is_no_report_and_no_record() {
    let folder = tempfile::tempdir().unwrap();
    let report = output_of(quiclab().arg("report").arg(folder.path()));
    assert_eq!(report.status, Some(125));
    assert!(report.errors.contains("found no experiment.json"), "{}", report.errors);
    let verify = output_of(quiclab().arg("verify").arg(folder.path()).args(["--stacks", TEST_STACKS]));
    assert_eq!(verify.status, Some(125));
    assert!(verify.errors.contains("run.toml"), "{}", verify.errors);
}

#[test]
fn a_dry_run_shows_the_plan_and_makes_nothing() {
    let bench = Bench::new(
        "name = \"x\"\ntitle = \"x\"\n[stack]\nname = \"misbehaving\"\n[workload]\nrepetitions = 3\n\
         [vm]\ntimer_slack = \"1 ms\"\n",
    );
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &["--dry-run"]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    assert!(
        result.output.starts_with("x: 3 runs\n  in all runs: vm.timer_slack = 1 ms\n")
            && result.output.contains("seed 3"),
        "{}",
        result.output
    );
    assert!(!bench.out("out").exists());
}

#[test]
fn what_a_program_reads_is_json() {
    let stacks = output_of(quiclab().args(["stacks", "list", "--json", "--stacks", TEST_STACKS]));
    let stacks: serde_json::Value = serde_json::from_str(&stacks.output).unwrap();
    assert_eq!(stacks[0]["name"], "careless");
    let doctor = output_of(quiclab().args(["doctor", "--json", "--stacks", TEST_STACKS]));
    let checks: serde_json::Value = serde_json::from_str(&doctor.output).unwrap();
    assert!(checks.as_array().unwrap().iter().all(|check| check["name"].is_string() && check["good"].is_boolean()));
}
