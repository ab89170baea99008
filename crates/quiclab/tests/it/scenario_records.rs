//! Records of scenarios: kept, shared, damaged, and of other versions.

use std::{fs, process::Stdio};

use crate::common::{
    Bench, TEST_STACKS,
    models::{SMALL, read, run},
    output_of, quiclab, records,
};
use quiclab_testing::wait_until;
use serde_json::Value;

#[test]
fn records_are_kept_and_a_missing_or_damaged_one_is_noticed() {
    let files = Bench::new(SMALL);
    assert_eq!(run(&files, "out", &["-j", "1"]).status, Some(0));
    let out = files.out("out");
    let whole = read(&out.join("report.json"));
    let names = records(&out);
    assert_eq!(names.len(), 4);
    assert!(names[0].starts_with("models-buffer_bdp_0.25-01-"), "{names:?}");
    let kept = read(&out.join(&names[1]).join("metrics.json"));
    // Killed before two of them were complete: what is left of one is in the way of nothing.
    fs::remove_dir_all(out.join(&names[0])).unwrap();
    fs::remove_dir_all(out.join(&names[2])).unwrap();
    let id = names[2].rsplit_once('-').unwrap().1;
    fs::create_dir(out.join(format!(".partial-{id}~abc"))).unwrap();
    fs::write(out.join(format!(".lock-{id}")), "").unwrap();
    let result = run(&files, "out", &["-j", "1"]);
    assert!(result.errors.contains("2 of 4 runs have a record already"), "{}", result.errors);
    assert_eq!(records(&out), names);
    assert!(read(&out.join("report.json")) == whole && read(&out.join(&names[1]).join("metrics.json")) == kept);
    let left: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with('.')), "{left:?}");
}

#[test]
fn a_damaged_record_is_named_and_not_counted_and_its_run_is_performed_again() {
    let files = Bench::new(SMALL);
    assert_eq!(run(&files, "out", &[]).status, Some(0));
    let out = files.out("out");
    let names = records(&out);
    let report = read(&out.join("report.json"));
    let damaged = out.join(&names[3]).join("metrics.json");
    let whole = read(&damaged);
    fs::write(&damaged, &whole[..whole.len() / 2]).unwrap();
    // Reading names it and counts the others.
    let expected = format!("{}: found {} bytes, expected {}", damaged.display(), whole.len() / 2, whole.len());
    for verb in ["check", "report"] {
        let result = output_of(quiclab().arg(verb).arg(&out));
        assert!(result.errors.contains(&format!("skipping the damaged record {}", names[3])), "{}", result.errors);
        assert!(result.errors.contains(&expected), "{}", result.errors);
        assert_eq!(result.status, Some(0), "{verb}: {}", result.errors);
    }
    let counted: Value = serde_json::from_slice(&read(&out.join("report.json"))).unwrap();
    let runs = counted["groups"].as_array().unwrap().iter().map(|group| group["runs"].as_array().unwrap().len());
    assert_eq!(runs.sum::<usize>(), 3, "{counted}");
    let listed = output_of(quiclab().args(["doctor", "--json", "--records"]).arg(&out));
    assert_eq!(listed.status, Some(1), "{}", listed.errors);
    let listed: Value = serde_json::from_str(&listed.output).unwrap();
    assert_eq!((&listed["records"], listed["damaged"].as_array().unwrap().len()), (&4.into(), 1));
    assert!(listed["damaged"][0]["damage"][0].as_str().unwrap().starts_with(&expected), "{listed}");
    // Running performs it again, and keeps what is left of it.
    let result = run(&files, "out", &[]);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    assert!(result.errors.contains("3 of 4 runs have a record already"), "{}", result.errors);
    assert!(result.errors.contains("the record is damaged: it was moved to "), "{}", result.errors);
    assert_eq!(read(&out.join("damaged").join(&names[3]).join("metrics.json")).len(), whole.len() / 2);
    assert!(read(&damaged) == whole && read(&out.join("report.json")) == report, "the same run, the same bytes");
    // A byte that changes no length is found where hashes are checked.
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() = b' ';
    fs::write(&damaged, changed).unwrap();
    assert_eq!(run(&files, "out", &[]).status, Some(0));
    let listed = output_of(quiclab().args(["doctor", "--records"]).arg(&out));
    assert_eq!(listed.status, Some(1), "{}", listed.errors);
    assert!(listed.output.contains("metrics.json: found SHA-256 "), "{}", listed.output);
    assert!(listed.output.ends_with("4 records, 1 damaged\n"), "{}", listed.output);
    // What lacks every file is damaged too.
    let folder = out.join(&names[0]);
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    assert_eq!(run(&files, "out", &[]).status, Some(0));
    assert_eq!(records(&out), names);
    let result = output_of(quiclab().args(["doctor", "--records"]).arg(files.out("nowhere")));
    assert!(result.status == Some(125) && !files.out("nowhere").exists(), "{}", result.errors);
}

#[test]
fn a_record_of_a_newer_version_is_an_error_and_stays_where_it_is() {
    let files = Bench::new(SMALL);
    assert_eq!(run(&files, "out", &[]).status, Some(0));
    let out = files.out("out");
    let record = out.join(&records(&out)[0]);
    let text = String::from_utf8(read(&record.join("run.toml"))).unwrap();
    fs::write(record.join("run.toml"), text.replacen("schema = 2", "schema = 9", 1)).unwrap();
    let result = run(&files, "out", &[]);
    assert_eq!(result.status, Some(125), "{}", result.errors);
    assert!(result.errors.contains("found schema 9"), "{}", result.errors);
    assert!(record.is_dir() && !out.join("damaged").exists());
}

#[test]
fn results_of_earlier_versions_are_refused_with_what_to_do() {
    let files = Bench::new(SMALL);
    let out = files.out("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("scenario.json"), "{}").unwrap();
    fs::write(out.join("runs.jsonl"), "{}\n").unwrap();
    for result in [
        run(&files, "out", &[]),
        output_of(quiclab().arg("report").arg(&out)),
        output_of(quiclab().arg("check").arg(files.folder.path())),
    ] {
        assert_eq!(result.status, Some(125), "{}", result.errors);
        assert!(result.errors.contains("results of an earlier version"), "{}", result.errors);
        assert!(result.errors.contains("use a build of quiclab 0.1.0 from before"), "{}", result.errors);
        assert!(result.errors.contains(&format!("hint: rm -r {}", out.display())), "{}", result.errors);
    }
    assert!(out.join("runs.jsonl").exists());
}

#[test]
fn a_killed_sweep_continues_and_two_processes_share_a_folder() {
    const RUNS: usize = 1000;
    let many = SMALL.replace("repetitions = 2", &format!("repetitions = {}", RUNS / 2)).replace("3 s", "1 s");
    let files = Bench::new(&many);
    let out = files.out("out");
    let mut child = files.run(TEST_STACKS, "out", &["-j", "2"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn();
    let child = child.as_mut().unwrap();
    wait_until("some records", || records(&out).len() > 20);
    child.kill().unwrap();
    child.wait().unwrap();
    let there = records(&out).len();
    assert!(there < RUNS, "it was killed too late to tell");
    for name in records(&out) {
        let result: Value = serde_json::from_slice(&read(&out.join(name).join("metrics.json"))).unwrap();
        assert_eq!(result["series"]["time"].as_array().unwrap().len(), 100);
    }
    // Two at once do the rest, and both report all of it.
    let mut other = files.run(TEST_STACKS, "out", &["-j", "1"]);
    let other = other.stderr(Stdio::null()).stdout(Stdio::null()).spawn();
    let result = run(&files, "out", &["-j", "1"]);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    assert_eq!(other.unwrap().wait().unwrap().code(), Some(0));
    assert_eq!(records(&out).len(), RUNS);
    let fresh = Bench::new(&many);
    assert_eq!(run(&fresh, "out", &[]).status, Some(0));
    assert_eq!(records(&fresh.out("out")), records(&out));
    assert!(read(&fresh.out("out/runs.parquet")) == read(&out.join("runs.parquet")));
}
