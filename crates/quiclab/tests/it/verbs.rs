//! Every verb is called, on results of each testbed that this machine has.

use std::{collections::BTreeSet, fs, path::Path};

use crate::common::{CommandOutput, REAL_STACKS, TEST_STACKS, output_of, prepared::Prepared, quiclab};
use quiclab_testing::{
    files::{capture, repository},
    has_namespaces,
};

/// Verbs that tests of their own call for real, and where.
const ELSEWHERE: [(&str, &str); 4] = [
    ("run", "common/prepared.rs"),
    ("perf", "perf_udp.rs"),
    ("scan", "../scan/trouble.rs"),
    ("campaign", "../../../../python/tests/campaign/test_real.py"),
];

fn call(arguments: &[&str], folder: &Path) -> CommandOutput {
    // Where verbs find stacks that are not named.
    output_of(quiclab().current_dir(folder).env("QUICLAB_SHARE", repository()).args(arguments))
}

/// Calls a verb, which must succeed and print all of these.
#[track_caller]
fn expect(arguments: &[&str], folder: &Path, texts: &[&str]) {
    let result = call(arguments, folder);
    assert_eq!(result.status, Some(0), "{arguments:?}: {}{}", result.output, result.errors);
    for text in texts {
        let found = result.output.contains(text) || result.errors.contains(text);
        assert!(found, "{arguments:?}: no {text:?} in\n{}{}", result.output, result.errors);
    }
}

/// The verbs in the command's own list.
fn verbs() -> BTreeSet<String> {
    let help = output_of(quiclab().arg("--help")).output;
    let (_, list) = help.split_once("The first hour:").expect("a list of verbs");
    let (list, _) = list.split_once("\nOptions:").expect("options behind it");
    // Lines that go on are indented more. The commands for scripts are one verb, which its line calls by its whole name.
    let lines = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let verbs = lines.filter_map(|line| line.split_whitespace().find(|word| *word != "quiclab"));
    verbs.map(str::to_owned).collect()
}

#[test]
fn every_verb_works_on_results_of_virtual_machines() {
    let records = Prepared::Controllers.records();
    assert_eq!(records.len(), 4);
    let copy = Prepared::Controllers.copy();
    let folder = copy.path();
    let [one, other] = [&records[0], &records[2]].map(|record| record.display().to_string());
    let results = folder.display().to_string();
    let record = records[0].file_name().unwrap().to_string_lossy().into_owned();
    let in_copy = folder.join(&record).display().to_string();
    let page = format!("runs/{record}-look.html");
    let example = capture("ngtcp2-qlog").display().to_string();
    let calls: &[(&[&str], &[&str])] = &[
        (&["tools", "perform", &format!("{one}/run.toml"), "--record", "again", "--stacks", REAL_STACKS], &[]),
        (&["analyze", &example], &["packets"]),
        (&["packets", &one, "--around", "100ms"], &[]),
        (&["look", &in_copy], &[&page]),
        (&["ls", &results], &[&record, "vm", "Mbit/s"]),
        (&["ls", "."], &["4", "just now"]),
        (&["advise", "pto", "40ms", "44ms"], &["ms"]),
        (&["advise", "instant-ack", "--rtt", "9ms", "--delay", "4ms"], &["instant"]),
        (&["report", &results], &["report.html"]),
        (&["check", &results], &["holds"]),
        (&["ab", &results, &results], &[]),
        (&["ab", "ngtcp2", "ngtcp2", "--stacks", REAL_STACKS, "--reps", "1"], &["the same bytes"]),
        (&["bundle", &results, "out.zip"], &["out.zip"]),
        (&["verify", &one, "--stacks", REAL_STACKS], &["every byte is the same"]),
        (&["doctor"], &["QEMU"]),
        (&["cache", "list"], &["kernel"]),
        (&["stacks", "list", "ngtcp2"], &["ngtcp2"]),
        (&["tools", "kernel", "list"], &["6.1"]),
        (
            &["interop", "--server", "ngtcp2", "--client", "ngtcp2", "--case", "handshake", "--stacks", REAL_STACKS],
            &["ngtcp2"],
        ),
        (&["tools", "prepare", "small.toml", "--stacks", REAL_STACKS], &[]),
        (&["help", "report"], &["report"]),
        (&["tools", "completions", "bash"], &["quiclab"]),
    ];
    let small = "name = \"small\"\ntitle = \"x\"\n[stack]\nname = \"ngtcp2\"\n[workload]\nsize = \"64 KiB\"\n";
    fs::write(folder.join("small.toml"), small).unwrap();
    let several = call(&["look", &results], folder);
    assert_eq!(several.status, Some(125), "{}", several.output);
    assert!(several.errors.contains("found 4 records") && several.errors.contains(&record), "{}", several.errors);
    let mut called: BTreeSet<String> = ELSEWHERE.iter().map(|(verb, _)| (*verb).to_owned()).collect();
    for (arguments, texts) in calls {
        expect(arguments, folder, texts);
        called.insert(arguments[0].to_owned());
    }
    // Two seeds of one controller differ, and another one does too: the status says so.
    let result = call(&["diff", &one, &other], folder);
    assert_eq!(result.status, Some(1), "{}", result.errors);
    assert!(result.output.contains("the first packet that differs"), "{}", result.output);
    called.insert("diff".to_owned());
    // Twelve runs take too long here; where it finds no experiments, it says so.
    let lost = output_of(quiclab().current_dir(folder).env("QUICLAB_SHARE", folder).args(["run", "--demo"]));
    assert_eq!(lost.status, Some(125), "{}{}", lost.output, lost.errors);
    assert!(lost.errors.contains("found no experiments/quic-steps/baseline.toml"), "{}", lost.errors);
    assert_eq!(called, verbs(), "a new verb is called here, or by a test that ELSEWHERE names");
    for (verb, file) in ELSEWHERE {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(file);
        assert!(fs::read_to_string(&path).unwrap().contains(verb), "{}: {verb} is not in it", path.display());
    }
}

#[test]
fn results_of_namespaces_and_of_the_simulator_are_reported_and_checked() {
    if has_namespaces() {
        let copy = Prepared::RealTime.copy();
        let record = Prepared::RealTime.records()[0].display().to_string();
        expect(&["report", &copy.path().display().to_string()], copy.path(), &["report.html"]);
        expect(&["packets", &record], copy.path(), &[]);
    }
    let copy = Prepared::Models.copy();
    let results = copy.path().display().to_string();
    expect(&["report", &results], copy.path(), &["report.html"]);
    expect(&["check", &results], copy.path(), &["the link is used"]);
    let record = Prepared::Models.records()[0].display().to_string();
    expect(&["verify", &record, "--stacks", TEST_STACKS], copy.path(), &["every byte is the same"]);
}
