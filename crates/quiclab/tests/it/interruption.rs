//! Ctrl-C and kill -9 in the middle: nothing is left behind, nothing finished is lost, and the next run goes on.

use std::{
    fs,
    process::{Output, Stdio},
};

use crate::common::{Bench, TEST_STACKS, output_of, quiclab, records};
use quiclab_testing::{processes_with, wait_until};

const EXPERIMENT: &str = r#"
name = "tests/interruption"
title = "Long enough to be interrupted"
[stack]
name = "misbehaving"
[workload]
size = "1 MiB"
repetitions = 4
"#;

fn interrupted_by(signal: i32) {
    let bench = Bench::new(EXPERIMENT);
    let out = bench.out("out");
    let mark = out.display().to_string();
    let mut command = bench.run(TEST_STACKS, "out", &["-j", "2"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // In the middle: something is finished, something under way.
    let qemu = || processes_with(&mark).iter().any(|line| line.starts_with("qemu-system-x86_64"));
    wait_until("the first record", || !records(&out).is_empty());
    wait_until("another run", || qemu() || child.try_wait().unwrap().is_some());
    let finished = records(&out);
    // SAFETY: plain system call on our own child.
    unsafe { libc::kill(child.id() as i32, signal) };
    let status = child.wait().unwrap();
    if signal == libc::SIGINT {
        assert_eq!(status.code(), Some(130));
        assert!(processes_with(&mark).is_empty(), "left behind: {:?}", processes_with(&mark));
        assert!(!has_leftovers(&out), "an orderly end leaves nothing half-written");
    } else {
        wait_until("the kernel to end the virtual machines", || processes_with(&mark).is_empty());
    }
    let kept = records(&out);
    assert!(finished.iter().all(|name| kept.contains(name)), "finished runs are kept");

    let again = output_of(&mut bench.run(TEST_STACKS, "out", &[]));
    assert_eq!(again.status, Some(0), "{}", again.errors);
    assert!(again.errors.contains(&format!("{} of 4 runs have a record already", kept.len())), "{}", again.errors);
    assert_eq!(records(&out).len(), 4);
    assert!(!has_leftovers(&out));

    // The interruption left no trace in the results.
    let untouched = output_of(&mut bench.run(TEST_STACKS, "untouched", &[]));
    assert_eq!(untouched.status, Some(0), "{}", untouched.errors);
    for name in records(&out) {
        let [one, other] =
            [&out, &bench.out("untouched")].map(|folder| fs::read(folder.join(&name).join("wire.pcapng")));
        assert!(one.unwrap() == other.unwrap(), "{name}: wire.pcapng differs");
    }
}

fn has_leftovers(out: &std::path::Path) -> bool {
    fs::read_dir(out)
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().starts_with(".partial"))
}

#[test]
fn after_ctrl_c_the_same_command_goes_on() {
    interrupted_by(libc::SIGINT);
}

#[test]
fn after_kill_9_the_same_command_goes_on() {
    interrupted_by(libc::SIGKILL);
}

#[test]
fn a_damaged_record_is_named_and_kept_and_its_run_is_performed_again() {
    let bench = Bench::new(&EXPERIMENT.replace("repetitions = 4", "repetitions = 1").replace("1 MiB", "64 KiB"));
    let first = output_of(&mut bench.run(TEST_STACKS, "out", &[]));
    assert_eq!(first.status, Some(0), "{}", first.errors);
    let out = bench.out("out");
    let record = out.join(&records(&out)[0]);
    let run = || output_of(&mut bench.run(TEST_STACKS, "out", &[]));
    let name = records(&out)[0].clone();
    let whole = ["wire.pcapng", "metrics.json"].map(|file| fs::read(record.join(file)).unwrap());
    for (number, file) in ["wire.pcapng", "metrics.json", "server/stdout"].into_iter().enumerate() {
        let path = record.join(file);
        match number {
            0 => fs::write(&path, &whole[0][..whole[0].len() / 2]).unwrap(),
            1 => fs::write(&path, "").unwrap(),
            _ => fs::remove_file(&path).unwrap(),
        }
        let half = fs::read(&path).ok();
        for result in [output_of(quiclab().arg("report").arg(&out)), run()] {
            assert_eq!(result.status, Some(0), "{}", result.errors);
            assert!(result.errors.contains(&path.display().to_string()), "{}", result.errors);
        }
        let kept = out.join("damaged").join(if number == 0 { name.clone() } else { format!("{name}~{}", number + 1) });
        assert_eq!(fs::read(kept.join(file)).ok(), half, "the damaged record is kept as it is");
        let again = ["wire.pcapng", "metrics.json"].map(|file| fs::read(record.join(file)).unwrap());
        assert!(again == whole, "the same run, the same bytes");
    }
    assert!(run().errors.contains("1 of 1 runs have a record already"));
    // What a killed process was writing has another name and is removed.
    fs::rename(&record, out.join(".partial-x")).unwrap();
    let again = output_of(&mut bench.run(TEST_STACKS, "out", &[]));
    assert!(!again.errors.contains("have a record already"), "{}", again.errors);
    assert!(!out.join(".partial-x").exists());
    assert_eq!(records(&out).len(), 1);
}

#[test]
fn two_commands_with_the_same_runs_share_a_folder_and_perform_each_run_once() {
    let bench = Bench::new(&EXPERIMENT.replace("1 MiB", "64 KiB"));
    let out = bench.out("out");
    let start =
        || bench.run(TEST_STACKS, "out", &["-j", "1", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let [one, other] = [start().unwrap(), start().unwrap()];
    let mut performed = Vec::new();
    for child in [one, other] {
        let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
        assert_eq!(status.code(), Some(0), "{}", String::from_utf8_lossy(&stderr));
        let result: serde_json::Value = serde_json::from_slice(&stdout).unwrap();
        performed.extend(
            result["performed"].as_array().unwrap().iter().map(|row| row["record"].as_str().unwrap().to_owned()),
        );
    }
    performed.sort();
    assert_eq!(performed, records(&out), "each run is performed once, by either");
    assert_eq!(performed.len(), 4);
    assert!(!has_leftovers(&out));
    // What they made together is what one makes alone.
    let alone = output_of(&mut bench.run(TEST_STACKS, "alone", &[]));
    assert_eq!(alone.status, Some(0), "{}", alone.errors);
    let files = |out: &str, name: &str| {
        ["wire.pcapng", "metrics.json", "run.toml"].map(|file| fs::read(bench.out(out).join(name).join(file)).unwrap())
    };
    for name in records(&out) {
        assert!(files("out", &name) == files("alone", &name), "{name}");
    }
    let report = |out: &str| fs::read_to_string(bench.out(out).join("report.json")).unwrap();
    assert_eq!(report("out").replace("/out", "/alone"), report("alone"));
}

#[test]
fn two_commands_with_different_runs_fill_one_folder() {
    let [one, other] = ["seed = 1\n", "seed = 11\n"].map(|seed| {
        Bench::new(&format!(
            "{seed}{}",
            EXPERIMENT.replace("repetitions = 4", "repetitions = 2").replace("1 MiB", "64 KiB")
        ))
    });
    let out = one.out("out");
    let start = |bench: &Bench| {
        let mut command = quiclab();
        command.arg("run").arg(bench.file()).args(["--stacks", TEST_STACKS, "-j", "1", "--out"]).arg(&out);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for child in [start(&one), start(&other)] {
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        assert_eq!(status.code(), Some(0), "{}", String::from_utf8_lossy(&stderr));
    }
    assert_eq!(records(&out).len(), 4, "the last index wins, and no record is lost");
    let index: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("experiment.json")).unwrap()).expect("the index is whole");
    assert_eq!(index["records"].as_array().unwrap().len(), 2);
}

#[test]
fn where_one_of_two_commands_is_killed_the_other_performs_its_runs() {
    let bench = Bench::new(EXPERIMENT);
    let out = bench.out("out");
    let mut killed =
        bench.run(TEST_STACKS, "out", &["-j", "1"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("a run under way", || has_leftovers(&out));
    let other =
        bench.run(TEST_STACKS, "out", &["-j", "1"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the first record", || !records(&out).is_empty());
    wait_until("another run", || has_leftovers(&out));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let Output { status, stderr, .. } = other.wait_with_output().unwrap();
    assert_eq!(status.code(), Some(0), "{}", String::from_utf8_lossy(&stderr));
    assert_eq!(records(&out).len(), 4);
    assert!(!has_leftovers(&out), "the other one has removed what was left");
}

#[test]
fn what_an_experiment_beside_this_one_has_performed_is_not_performed_again() {
    let bench = Bench::new(EXPERIMENT);
    let folder = bench.out("experiments");
    fs::create_dir(&folder).unwrap();
    for name in ["first", "second"] {
        let file = format!(
            "name = \"{name}\"\ntitle = \"x\"\n[stack]\nname = \"misbehaving\"\n[workload]\nsize = \"64 KiB\"\nrepetitions = 2\n"
        );
        fs::write(folder.join(format!("{name}.toml")), file).unwrap();
    }
    let out = bench.out("out");
    let result = output_of(quiclab().arg("run").arg(&folder).args(["--stacks", TEST_STACKS, "--out"]).arg(&out));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    assert!(result.errors.contains("2 runs have a record in an experiment beside this one"), "{}", result.errors);
    let [first, second] = ["first", "second"].map(|name| out.join(name));
    assert_eq!(records(&first).len(), 2);
    assert_eq!(records(&first), records(&second));
    // Each folder is whole by itself.
    fs::remove_dir_all(&first).unwrap();
    for name in records(&second) {
        assert!(fs::read(second.join(name).join("wire.pcapng")).unwrap().len() > 64 << 10);
    }
}
