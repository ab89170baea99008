//! A stack of one's own, given by `--stack`, and settings given by `--set`, as a user gives them.

use crate::common;
use std::{fs, path::Path};

use crate::common::{Bench, CommandOutput, REAL_STACKS, output_of, program, quiclab};

const FILE: &str = "name = \"tests/others\"\ntitle = \"x\"\n[workload]\nsize = \"64 KiB\"\n[matrix]\n\"stack.name\" = [\"ngtcp2\", \"tcp-tls\"]\n\
                    \"hosts.server_qdisc\" = [\"none\", \"fq\"]\n";

/// A folder with a stack that copies its endpoint from elsewhere.
fn own_stack(folder: &Path, name: &str, build: &str) {
    fs::create_dir_all(folder).unwrap();
    let text = fs::read_to_string(Path::new(REAL_STACKS).join("ngtcp2/stack.toml")).unwrap();
    let mut manifest: toml::Table = text.parse().unwrap();
    manifest.insert("name".to_owned(), name.into());
    let mut table: toml::Table = build.parse().unwrap();
    table.insert("profile".to_owned(), "release".into());
    for key in ["host_packages", "host_tools"] {
        table.insert(key.to_owned(), toml::Value::Array(Vec::new()));
    }
    manifest.insert("build".to_owned(), table.into());
    fs::write(folder.join("stack.toml"), manifest.to_string()).unwrap();
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn dry_run(bench: &Bench, more: &[&str]) -> CommandOutput {
    output_of(&mut bench.run(REAL_STACKS, "out", &[&["--dry-run"], more].concat()))
}

#[test]
fn a_file_that_names_other_stacks_is_run_for_the_own_one_and_says_so() {
    let bench = Bench::new(FILE);
    program(bench.folder.path(), "mine", "exit 127");
    let mine = text(&bench.out("mine"));
    for filter in [&[][..], &["--filter", "stack=mine"]] {
        let result = dry_run(&bench, &[&["--stack", &mine], filter].concat());
        assert_eq!(result.status, Some(0), "{}", result.errors);
        assert!(
            result
                .output
                .starts_with("tests/others: 2 runs\n  the file does not name the stack mine; running it with mine"),
            "{result:?}"
        );
        assert!(result.output.contains("\n  mine, server_qdisc=fq, repetition 1"), "{result:?}");
        assert!(!result.output.contains("ngtcp2, "), "{result:?}");
    }
    let silent = Bench::new("name = \"tests/others\"\ntitle = \"x\"\n[workload]\nsize = \"64 KiB\"\n");
    let result = dry_run(&silent, &["--stack", &mine]);
    assert!(result.output.starts_with("tests/others: 1 runs\n  in all runs: "), "{result:?}");
    assert!(!result.output.contains("does not name"), "{result:?}");
    let named = dry_run(&bench, &["--stack", &mine, "--set", "stack.name=mine,ngtcp2", "--set", "path.rate=5 Mbit/s"]);
    assert!(
        named.output.starts_with("tests/others: 4 runs with stack.name = mine,ngtcp2, path.rate = 5 Mbit/s\n"),
        "{named:?}"
    );
    assert!(named.output.contains("ngtcp2, server_qdisc=fq, repetition 1: 64 KiB, 5 Mbit/s"), "{named:?}");
}

#[test]
fn a_setting_that_no_stack_claims_is_refused_by_name() {
    let bench = Bench::new(FILE);
    let result = dry_run(&bench, &["--set", "stack.congestion_control=vegas"]);
    assert_eq!(result.status, Some(125));
    let expected =
        "--set stack.congestion_control: found \"vegas\", which ngtcp2 does not support; expected one of \"cubic\"";
    assert!(result.errors.contains(expected), "{}", result.errors);
    let result = dry_run(&bench, &["--set", "path.rat=3"]);
    assert!(
        result.errors.contains("--set path.rat: found a key that does not exist\nhint: did you mean path.rate?"),
        "{}",
        result.errors
    );
}

#[test]
fn two_stacks_of_one_name_are_refused_and_a_shipped_one_is_replaced_only_where_that_is_asked_for() {
    let bench = Bench::new(FILE);
    for folder in ["a", "b"] {
        program(&bench.out(folder), "mine", "exit 127");
    }
    let [one, other] = ["a/mine", "b/mine"].map(|name| text(&bench.out(name)));
    let result = dry_run(&bench, &["--stack", &one, "--stack", &other]);
    assert_eq!(result.status, Some(125));
    let expected = format!("--stack {other}: found a stack named \"mine\", which is also the name of --stack {one}");
    assert!(result.errors.contains(&expected), "{}", result.errors);
    program(&bench.out("c"), "ngtcp2", "exit 127");
    let shipped = text(&bench.out("c/ngtcp2"));
    let result = dry_run(&bench, &["--stack", &shipped]);
    assert_eq!(result.status, Some(125), "{}", result.errors);
    for part in
        [&format!("--stack {shipped}: found a stack named \"ngtcp2\", which is also the name of "), "--replace uses it"]
    {
        assert!(result.errors.contains(part), "lacks {part:?}: {}", result.errors);
    }
    let result = dry_run(&bench, &["--replace", "--stack", &shipped]);
    assert_eq!(result.status, Some(0), "{}", result.errors);
    assert!(result.errors.contains(&format!("--stack {shipped} replaces ngtcp2 ")), "{}", result.errors);
    assert!(result.output.starts_with("tests/others: 4 runs\n"), "{result:?}");
}

#[test]
fn a_build_is_made_again_when_an_input_changes_or_when_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("tests-inputs");
    own_stack(
        &mine,
        "tests-inputs",
        "command = \"cp ../endpoint.sh $QUICLAB_STACK_OUT\"\ninputs = [\"../endpoint.sh\"]\n",
    );
    // Unlike what an earlier test left in the cache.
    let unique = text(folder.path());
    let build = |more: &[&str]| {
        let mut command = quiclab();
        command.args(["stacks", "build", "tests-inputs", "--stacks", REAL_STACKS, "--stack"]).arg(&mine).args(more);
        output_of(&mut command)
    };
    let missing = build(&[]);
    assert_eq!(missing.status, Some(1), "{missing:?}");
    assert!(missing.output.contains("build.inputs: found \"../endpoint.sh\", but "), "{missing:?}");
    fs::write(folder.path().join("endpoint.sh"), format!("# {unique} 1\n")).unwrap();
    assert!(build(&[]).output.starts_with("tests-inputs: built ("));
    let cached = build(&[]).output;
    assert!(cached.starts_with("tests-inputs: from the cache (built "), "{cached}");
    assert!(cached.contains(&text(&fs::canonicalize(&mine).unwrap())), "{cached}");
    assert!(build(&["--rebuild"]).output.starts_with("tests-inputs: built ("));
    fs::write(folder.path().join("endpoint.sh"), format!("# {unique} 2\n")).unwrap();
    let json = build(&["--json"]).output;
    assert!(json.contains("\"from_cache\": false"), "{json}");
    // One that leaves nothing is an error when it is built.
    own_stack(&mine, "tests-inputs", "command = \"true\"\n");
    let nothing = build(&[]);
    assert_eq!(nothing.status, Some(1), "{nothing:?}");
    assert!(nothing.output.contains("left no file in $QUICLAB_STACK_OUT"), "{nothing:?}");
}

#[test]
fn a_record_of_an_own_stack_is_verified_with_that_and_says_so_without() {
    let bench = Bench::new(
        "name = \"tests/own\"\ntitle = \"x\"\n[workload]\nsize = \"64 KiB\"\n[matrix]\n\"path.rate\" = [\"20 Mbit/s\", \"40 Mbit/s\"]\n",
    );
    let mine = bench.out("tests-verify");
    own_stack(&mine, "tests-verify", "command = \"cp endpoint.sh $QUICLAB_STACK_OUT\"\n");
    fs::copy(Path::new(REAL_STACKS).join("ngtcp2/endpoint.sh"), mine.join("endpoint.sh")).unwrap();
    let result =
        output_of(&mut bench.run(REAL_STACKS, "out", &["--stack", &text(&mine), "--set", "stack.name=tests-verify"]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let names = common::records(&bench.out("out"));
    assert_eq!(names.len(), 2);
    assert!(names[0].starts_with("tests-verify-rate_20Mbit_s-01-"), "{names:?}");
    let paths: Vec<_> = names.iter().map(|name| text(&bench.out("out").join(name))).collect();
    let verify = |more: &[&str]| output_of(quiclab().args(["verify", &paths[0], "--stacks", REAL_STACKS]).args(more));
    let result = verify(&[]);
    assert_eq!(result.status, Some(125), "{result:?}");
    assert!(result.errors.contains("the record was made with the stack \"tests-verify\""), "{}", result.errors);
    assert!(result.errors.contains("hint: if it is your own stack, add --stack PATH"), "{}", result.errors);
    let result = verify(&["--stack", &text(&mine)]);
    assert_eq!(result.status, Some(0), "{result:?}");
    // A record under the name that earlier versions gave it is not made again.
    let id = names[0].rsplit('-').next().unwrap();
    fs::rename(&paths[0], bench.out("out").join(format!("tests-verify-01-{id}"))).unwrap();
    let result =
        output_of(&mut bench.run(REAL_STACKS, "out", &["--stack", &text(&mine), "--set", "stack.name=tests-verify"]));
    assert!(result.errors.contains("2 of 2 runs have a record already"), "{}", result.errors);
    let report = fs::read_to_string(bench.out("out/report.json")).unwrap();
    assert!(report.contains(&format!("tests-verify-01-{id}")), "{report}");
    assert!(report.contains("--set stack.name=tests-verify"), "{report}");
    // The report of other runs in the same folder does not take its place in silence.
    let result = output_of(&mut bench.run(
        REAL_STACKS,
        "out",
        &["--stack", &text(&mine), "--set", "stack.name=tests-verify", "--filter", "path.rate=20 Mbit/s"],
    ));
    assert!(result.errors.contains("the report no longer covers 1 runs of `quiclab run "), "{}", result.errors);
    // What a shell makes of a pattern.
    let result = output_of(quiclab().arg("diff").args([&paths[1], &paths[1], &paths[1]]));
    assert_eq!(result.status, Some(125), "{result:?}");
    assert!(result.errors.contains("diff: found 3 folders, expected two:"), "{}", result.errors);
}
