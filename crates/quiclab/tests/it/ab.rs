//! A and B as a user runs them: builds that differ, builds that are the same, a side that fails.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::{REAL_STACKS, TEST_STACKS, output_of, quiclab, records};
use serde_json::Value;

const FILE: &str = r#"
name = "tests/ab"
title = "A beside B"
[stack]
name = "my-endpoint"
[workload]
size = "256 KiB"
repetitions = 3
"#;

/// A copy of the stack that sends over plain TCP, under the name `my-endpoint`.
fn endpoint(folder: &Path, change: impl Fn(String) -> String) {
    let source = Path::new(TEST_STACKS).join("misbehaving");
    fs::create_dir_all(folder).unwrap();
    let manifest = fs::read_to_string(source.join("stack.toml")).unwrap();
    fs::write(folder.join("stack.toml"), manifest.replace("name = \"misbehaving\"", "name = \"my-endpoint\"")).unwrap();
    let program = fs::read_to_string(source.join("endpoint.pl")).unwrap();
    fs::write(folder.join("endpoint.pl"), change(program)).unwrap();
}

/// Waits in the middle of what it sends.
fn with_a_pause(program: String) -> String {
    const SEND: &str = "    print $connection scalar <$file>;\n";
    assert!(program.contains(SEND), "the endpoint sends in another way now");
    program.replace(
        SEND,
        "    my $bytes = <$file>;\n    $connection->autoflush(1);\n    print $connection substr $bytes, 0, 100_000;\n    \
         select undef, undef, undef, 0.2;\n    print $connection substr $bytes, 100_000;\n",
    )
}

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("gate.toml"), FILE).unwrap();
        endpoint(&folder.path().join("main"), |program| program);
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn ab(&self, more: &[&str]) -> Command {
        let mut command = quiclab();
        command.current_dir(self.folder.path()).arg("ab").args(more).args([
            "--stacks",
            TEST_STACKS,
            "--out",
            "results",
        ]);
        command
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_slower_build_fails_its_conditions_and_shows_the_train_it_began_with() {
    let place = Place::new();
    endpoint(&place.path("pr"), with_a_pause);
    let conditions = ["--fail-if", "goodput_wire_bps < -5%", "--fail-if", "goodput_wire_bps > +50%"];
    let result = output_of(
        place
            .ab(&["main", "pr", "gate.toml", "--json", "--html", "page.html", "--markdown", "comment.md"])
            .args(conditions),
    );
    assert_eq!(result.status, Some(1), "{}{}", result.output, result.errors);
    let all = json(&result.output);
    assert_eq!(all["conditions"][0]["outcome"], "fails", "{}", all["conditions"]);
    assert_eq!(all["conditions"][1]["outcome"], "passes", "{}", all["conditions"]);
    assert!(all["verdict"][0]["text"].as_str().unwrap().contains("slower"), "{}", all["verdict"]);
    // The same seeds on both sides.
    assert_eq!(
        (all["pairs"][0]["common_seeds"].as_u64(), all["pairs"][0]["is_paired"].as_bool()),
        (Some(3), Some(true))
    );
    let train = &all["trains"][0];
    assert_eq!((train["has"].as_str(), train["seed"].as_u64()), (Some("B"), Some(1)), "{train}");
    let after = train["sides"][1]["gap_before_ns"].as_u64().unwrap();
    assert!((100_000_000..300_000_000).contains(&after), "a pause of 0.2 s less what was still under way: {after}");
    assert_eq!(train["sides"][1]["bytes_in_flight"], 0);
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("pr against main") && page.contains("Packets over time"));
    assert!(fs::read_to_string(place.path("comment.md")).unwrap().contains("| my-endpoint | A | B |"));
    assert_eq!((records(&place.path("results/a")).len(), records(&place.path("results/b")).len()), (3, 3));

    // Each side is a folder of results like any other, and what is there is not run again.
    let result = output_of(quiclab().current_dir(place.folder.path()).args(["report", "results/b"]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let again = output_of(place.ab(&["main", "pr", "gate.toml", "--fail-if", "goodput_wire_bps < 0.99x"]).args([
        "--until-decided",
        "--budget",
        "6",
    ]));
    assert_eq!(again.status, Some(1), "{}{}", again.output, again.errors);
    assert_eq!(again.errors.matches("3 of 3 runs have a record already").count(), 2, "{}", again.errors);
    assert!(again.output.contains("decided after 1 evaluation"), "{}", again.output);

    // The two folders by themselves, through the same code.
    let result = output_of(quiclab().current_dir(place.folder.path()).args([
        "ab",
        "results/a",
        "results/b",
        "--fail-if",
        "goodput_wire_bps < -5%",
    ]));
    assert_eq!(result.status, Some(1), "{}{}", result.output, result.errors);
    assert!(result.output.contains("FAILS         fail if goodput_wire_bps < -5%"), "{}", result.output);
    let refused = |words: &[&str], part: &str| {
        let result = output_of(quiclab().current_dir(place.folder.path()).arg("ab").args(words));
        assert_eq!(result.status, Some(125), "{words:?}: {}", result.output);
        assert!(result.errors.contains(part), "{words:?}: {}", result.errors);
    };
    refused(&["results/a", "main"], "main: found no results of quiclab run");
    refused(&["results/a"], "it can be compared with one other, but there are 1 paths");
    refused(&["results/a", "results/b", "--reps", "5"], "--reps has no meaning here");
}

#[test]
fn builds_of_the_same_bytes_are_not_run() {
    let place = Place::new();
    endpoint(&place.path("pr"), |program| program);
    // What only people read makes no difference.
    let manifest = fs::read_to_string(place.path("pr/stack.toml")).unwrap();
    fs::write(place.path("pr/stack.toml"), manifest.replace("It misbehaves.", "It still does.")).unwrap();
    let result = output_of(&mut place.ab(&[
        "main",
        "pr",
        "gate.toml",
        "--fail-if",
        "train_max_packets > 1.05x",
        "--fail-if",
        "train_max_packets > 16",
    ]));
    assert_eq!(result.status, Some(0), "{}{}", result.output, result.errors);
    assert!(
        result.output.contains("A and B consist of the same bytes and have the same settings"),
        "{}",
        result.output
    );
    assert!(result.output.contains("passes        fail if train_max_packets > 1.05x"), "{}", result.output);
    assert!(result.output.contains("undecided     fail if train_max_packets > 16"), "{}", result.output);
    assert!(!place.path("results/a").exists(), "nothing was run");
    // Other settings of the same bytes are run.
    let result = output_of(&mut place.ab(&[
        "main",
        "gate.toml",
        "--a",
        "path.rate=20 Mbit/s",
        "--b",
        "path.rate=10 Mbit/s",
        "--reps",
        "1",
    ]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    assert!(result.output.contains("too few runs"), "{}", result.output);
    assert!(!result.output.contains("also differ"), "{}", result.output);
}

#[test]
fn a_side_that_fails_in_some_of_its_runs_fails_the_comparison() {
    let place = Place::new();
    // The guest's randomness follows from the seed, so the same seeds fail every time.
    endpoint(&place.path("pr"), |program| {
        program.replacen("my $manner", "exit 9 if $ENV{ROLE} eq 'client' && rand() < 0.5;\nmy $manner", 1)
    });
    let result = output_of(&mut place.ab(&["main", "pr", "gate.toml", "--reps", "6", "--json"]));
    let all = json(&result.output);
    let failed = all["failures"]["failed"][1].as_u64().unwrap();
    assert!((1..6).contains(&failed), "{failed} of 6: take other seeds");
    assert_eq!(all["failures"]["failed"][0], 0);
    assert_eq!(all["failures"]["tried"], serde_json::json!([6, 6]));
    assert_eq!(result.status, Some(1), "{}", result.errors);
    assert_eq!(all["pairs"][0]["common_seeds"].as_u64(), Some(6 - failed));
    assert!(all["failures"]["messages"][1][0][1].as_str().unwrap().contains("exit status 9"), "{}", all["failures"]);
    let verdict = all["verdict"][0]["text"].as_str().unwrap();
    let expected = if all["failures"]["differ"] == true {
        "no verdict: B fails more often"
    } else {
        "only for the runs that did not fail"
    };
    assert!(verdict.contains(expected), "{verdict}");
}

/// This is a failure for a CI, not a comparison that could not be run.
#[test]
fn a_side_that_fails_in_all_of_its_runs_has_no_verdict_and_fails_every_condition() {
    let place = Place::new();
    endpoint(&place.path("pr"), |program| {
        program.replacen("my $manner", "exit 9 if $ENV{ROLE} eq 'client';\nmy $manner", 1)
    });
    let arguments = ["main", "pr", "gate.toml", "--reps", "1", "--json", "--fail-if", "train_max_packets > 1.05x"];
    let result = output_of(&mut place.ab(&arguments));
    assert_eq!(result.status, Some(2), "{}", result.errors);
    let all = json(&result.output);
    assert_eq!(all["verdict"], Value::Null);
    assert!(all["reason"].as_str().unwrap().contains("B 1 of 1 runs failed"), "{}", all["reason"]);
}

#[test]
fn what_stays_undecided_is_repeated_up_to_the_budget() {
    let place = Place::new();
    // A difference of a twenty-thousandth. It changes no train, and equal trains are not certain to stay equal.
    let mut command = place.ab(&["main", "gate.toml", "--a", "path.rate=20 Mbit/s", "--b", "path.rate=20001 kbit/s"]);
    command.args([
        "--set",
        "workload.size=64 KiB",
        "--fail-if",
        "train_max_packets > 1.0x",
        "--until-decided",
        "--budget",
        "12",
    ]);
    let result = output_of(command.args(["--json", "--strict"]));
    let all = json(&result.output);
    assert_eq!(result.status, Some(1), "{}", result.errors);
    assert_eq!(all["conditions"][0]["outcome"], "undecided", "{}", all["conditions"]);
    assert_eq!(all["pairs"][0]["runs"], serde_json::json!([6, 6]));
    // The second look has a sixth of the error.
    assert!((all["alpha"].as_f64().unwrap() - 0.05 / 6.0).abs() < 1e-12);
    assert!(
        all["notes"]
            .to_string()
            .contains("not decided within the budget: 6 repetitions on each side after 2 evaluations")
    );
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_is_run() {
    let place = Place::new();
    for (arguments, expected) in [
        (&["main"][..], "found 1 stack, expected A and B"),
        (&["main", "main", "main"], "found 3 stacks, expected A and B"),
        (&["--a", "path.rate=1 Mbit/s", "--b", "path.rate=2 Mbit/s"], "--a and --b need a stack or a file"),
        (&["main", "nowhere"], "nowhere: found no such path, expected a folder with stack.toml"),
        (&["main@HEAD", "main"], "main@HEAD: found no such revision"),
        (&["main", "main", "gate.toml", "--json", "--markdown"], "standard output has one format"),
        (&["main", "main", "--fail-if", "train_max_packet > 1x"], "did you mean train_max_packets?"),
        (&["main", "main", "--metric", "goodput"], "expected the name of a metric"),
        (&["main", "main", "--set", "bottleneck.wrong=1"], "bottleneck.wrong"),
    ] {
        let result = output_of(&mut place.ab(arguments));
        assert_eq!(result.status, Some(125), "{arguments:?}: {}", result.errors);
        assert!(result.errors.contains(expected), "{arguments:?}: {}", result.errors);
    }
    assert!(!place.path("results").exists(), "what is refused leaves no folder");
}

#[test]
fn a_setting_on_and_off_is_two_sides_of_a_shipped_stack() {
    let place = Place::new();
    let mut command = quiclab();
    command.current_dir(place.folder.path()).args(["ab", "ngtcp2", "--stacks", REAL_STACKS, "--out", "results"]);
    command.args([
        "--a",
        "stack.congestion_control=cubic",
        "--b",
        "stack.congestion_control=bbr",
        "--set",
        "workload.size=256 KiB",
    ]);
    let result = output_of(command.args(["--reps", "2", "--json", "--set", "tap.qlog=true"]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let all = json(&result.output);
    assert_eq!(all["names"][1], "ngtcp2, stack.congestion_control=bbr");
    assert_eq!(all["pairs"][0]["runs"], serde_json::json!([2, 2]));
    let notes = all["notes"].to_string();
    assert!(!notes.contains("also differ"), "{notes}");
}

/// In the simulator, in which the client's packets all get lost on the side of B.
#[test]
fn handshakes_that_never_complete_on_b_are_said_first_and_fail_the_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let ab = |more: &[&str]| {
        let mut command = quiclab();
        let (sans_io, file) = (workspace("sans-io"), workspace("experiments/gate/handshake.toml"));
        command.current_dir(folder.path()).args(["ab", "quinn", "--testbed", "sim", "--out", "results", "--stacks"]);
        command.arg(sans_io).arg(file).args(["--profile", "quick", "--reps", "4", "--json"]);
        for only in ["loss.probability=0.0", "flight.drop=not any", "rtt.delay=40 ms"] {
            command.args(["--set", &format!("path.to_client.{only}")]);
        }
        let result = output_of(command.args(["--set", "workload.certificate=9 kB"]).args(more));
        (json(&result.output), result)
    };
    let lost = ["--a", "path.to_server.loss.probability=0.0", "--b", "path.to_server.loss.probability=1.0"];
    let (all, result) = ab(&lost);
    assert_eq!(result.status, Some(1), "{}{}", result.output, result.errors);
    let answer = all["answer"].as_str().unwrap();
    assert!(
        answer.starts_with("B fails more handshakes: 4 of 4 with ") && answer.ends_with("it never completes"),
        "{answer}"
    );
    let cell = &all["handshakes"]["cells"][0];
    assert_eq!(cell["outcome"], "never_completes");
    assert_eq!((&cell["completed"], &cell["tried"]), (&serde_json::json!([4, 0]), &serde_json::json!([4, 4])));
    assert_eq!(cell["reasons"][1]["the client ended with exit status 1"], 4, "{cell}");
    assert_eq!(all["failures"]["failed"], serde_json::json!([0, 0]));
    // The other way round B is the better one, and nothing fails.
    let (all, result) = ab(&["--a", lost[3], "--b", lost[1]]);
    assert_eq!(result.status, Some(0), "{}{}", result.output, result.errors);
    assert_eq!(all["handshakes"]["cells"][0]["outcome"], "now_completes");
}

#[test]
fn a_side_that_is_only_the_client_of_another_server_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = quiclab();
    command.current_dir(folder.path()).args(["ab", "ngtcp2-1.25", "picoquic", "--testbed", "sim", "--stacks"]);
    command.arg(workspace("sans-io")).arg(workspace("experiments/gate/handshake.toml"));
    let result = output_of(command.args(["--profile", "quick", "--set", "stack.client=picoquic"]));
    assert_eq!(result.status, Some(125), "{}", result.errors);
    assert!(
        result
            .errors
            .contains("B has picoquic only as the client, and quinn as its server\nhint: --b stack.name=picoquic"),
        "{}",
        result.errors
    );
}

fn workspace(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}
