//! Endpoints that fail: each is reported by its own message, and none stops the others.

use std::fs;

use crate::common::{Bench, TEST_STACKS, output_of, records};

const EXPERIMENT: &str = r#"
name = "tests/misbehaving"
title = "Endpoints that fail"
[stack]
name = "misbehaving"
[workload]
size = "64 KiB"
timeout = "5 s"
[matrix]
"stack.congestion_control" = ["server-crashes", "server-crashes-later", "server-never-listens", "server-answers-127",
    "client-fails", "client-answers-127", "client-hangs", "client-stores-too-little", "client-stores-something-else",
    "client-stores-nothing", "client-stores-a-link", "client-dies", "client-floods-its-log", "client-writes-elsewhere", "client-leaves-a-process",
    "client-stores-holes", "client-leaves-many-logs", "client-leaves-a-log-of-holes", "client-fills-its-logs",
    "server-sends-much-more", "not-at-all"]
"#;

const FAILURES: &[&str] = &[
    "the server ended before the transfer was complete (exit status 3)",
    "the server ended before the transfer was complete (exit status 4)",
    "the server did not listen on port 443 in time",
    "the server exited with 127: it does not support the settings of the run",
    "the client ended with exit status 1",
    "the client exited with 127: it does not support the settings of the run",
    "the client did not end within 5 s",
    "the client's 64KiB has 10 bytes, expected 65536",
    "the client's 64KiB has 1099511627776 bytes, expected 65536",
    "the client stored no 64KiB", // nothing
    "the client stored no 64KiB", // a link to the server's
    "the client ended with signal 11 (SIGSEGV)",
    "the tap sender had no room for ",
    "the client's 64KiB has SHA-256 de2f256064a0af797747c2b97505dc0b9f3df0de4f489eac731c23ae9ca9cc31, expected ",
];

/// What is reported as a warning and does not make a run fail, by what the endpoint does.
const WARNINGS: &[(&str, &str, &str)] = &[
    ("client-floods-its-log", "log_cut", "client/stdout: the last 1951424 bytes were not kept"),
    ("client-leaves-many-logs", "log_cut", "client: 502 of 1502 log files were not kept"),
    ("client-leaves-a-log-of-holes", "log_cut", "client/holes: the last 1099494850560 bytes were not kept"),
    ("client-fills-its-logs", "log_cut", "client: the log folder is full at 16777216 bytes"),
    ("client-writes-elsewhere", "stray_files", "the client wrote outside its folders: /etc/elsewhere"),
    ("client-leaves-a-process", "processes_left", "the client ended and left 1 processes behind"),
];

#[test]
fn every_failure_is_told_and_stops_nothing_else() {
    let bench = Bench::new(EXPERIMENT);
    let first = output_of(&mut bench.run(TEST_STACKS, "out", &[]));
    assert_eq!(first.status, Some(FAILURES.len() as i32), "{}", first.errors);
    let out = bench.out("out");
    assert_eq!(records(&out).len(), 1 + WARNINGS.len(), "the good runs have their records");
    for name in records(&out) {
        let read = |file: &str| fs::read_to_string(out.join(&name).join(file)).unwrap();
        let metrics: serde_json::Value = serde_json::from_str(&read("metrics.json")).unwrap();
        let result: Vec<_> =
            metrics["warnings"].as_array().unwrap().iter().map(|warning| warning["code"].clone()).collect();
        let expected = WARNINGS.iter().find(|(manner, ..)| read("run.toml").contains(&format!("{manner:?}")));
        for (_, code, _) in WARNINGS {
            let is_expected = expected.is_some_and(|(_, expected, _)| expected == code);
            assert_eq!(result.iter().any(|result| result == code), is_expected, "{name}: {result:?}");
        }
        if let Some((_, _, message)) = expected {
            assert!(read("metrics.json").contains(message), "{}", read("metrics.json"));
        }
    }
    let kept: Vec<_> = fs::read_dir(out.join("failed")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len(), FAILURES.len());
    let messages: Vec<_> = kept.iter().map(|folder| fs::read_to_string(folder.join("failure.txt")).unwrap()).collect();
    for failure in FAILURES {
        assert!(first.errors.contains(failure), "standard error lacks {failure:?}:\n{}", first.errors);
        assert!(messages.iter().any(|message| message.contains(failure)), "no failure.txt says {failure:?}");
    }
    // The report tells of them as well.
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(report["failures"].as_array().unwrap().len(), FAILURES.len());
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains(FAILURES[2]));

    // Finished runs are kept, failed ones are tried again.
    let again = |manner: &str| {
        let filter = format!("stack.congestion_control={manner}");
        output_of(&mut bench.run(TEST_STACKS, "out", &["-j", "1", "--filter", &filter]))
    };
    let kept = again("not-at-all");
    assert_eq!(kept.status, Some(0), "{}", kept.errors);
    assert!(kept.errors.contains("1 of 1 runs have a record already"), "{}", kept.errors);
    let failed = again("client-fails");
    assert_eq!(failed.status, Some(1), "{}", failed.errors);
    assert!(!failed.errors.contains("have a record already"), "{}", failed.errors);
}

#[test]
fn taps_can_have_room_for_what_is_sent_again_and_again() {
    let bench = Bench::new(
        "name = \"tests/room\"\ntitle = \"x\"\n[stack]\nname = \"misbehaving\"\ncongestion_control = \"server-sends-much-more\"\n\
         [workload]\nsize = \"64 KiB\"\n[tap]\nroom = \"8 MiB\"\n",
    );
    let result = output_of(&mut bench.run(TEST_STACKS, "out", &[]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let [record] = &records(&bench.out("out"))[..] else { panic!("one record") };
    let path = fs::read_to_string(bench.out("out").join(record).join("path.json")).unwrap();
    let path: serde_json::Value = serde_json::from_str(&path).unwrap();
    assert!(path["taps"][0]["packets_seen"].as_u64().unwrap() > 5000 && path["taps"][0]["packets_lost"] == 0, "{path}");
}
