//! What a stack claims is proved, and what it ignores is found.

use std::{fs, os::unix::fs::PermissionsExt, process::Command};

use crate::common::{Bench, REAL_STACKS, TEST_STACKS, output_of, quiclab, records};
use quiclab_testing::has_program;

#[test]
fn a_setting_that_is_ignored_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = quiclab();
    command.args(["stacks", "check", "careless", "--stacks", TEST_STACKS, "--out"]).arg(folder.path());
    let result = output_of(&mut command);
    for line in [
        "ok   careless: a file arrives complete, the key log decrypts its packets, and the endpoints write the logs \
         they claim: the file is complete",
        "ok   careless: it speaks IPv4: the file is complete",
        "FAIL careless: congestion control cubic is used: at most ",
        "FAIL careless: congestion control reno is used: at most ",
        "expected 64 KiB: the setting changes nothing",
        "ok   careless: segmentation offload is on: ",
        "FAIL careless: the server refuses TESTCASE=t7f3a9c1e: expected 127; the endpoint ignored it",
        "FAIL careless: the client refuses QUICLAB_NO_SUCH_SETTING=1: expected 127; the endpoint ignored it",
        "ok   careless: the server refuses QUICLAB_GSO=off: 127",
        "ok   careless: the client refuses QUICLAB_GSO=nonsense: 127",
    ] {
        assert!(result.output.contains(line), "no line {line:?} in\n{}", result.output);
    }
    let failed = result.output.lines().filter(|line| line.starts_with("FAIL")).count();
    assert_eq!(result.status, Some(failed as i32), "{}", result.errors);
}

/// A wrapper whose program is missing: a run for every claim would say the same again.
#[test]
fn a_broken_endpoint_is_shown_with_its_last_words_and_only_its_first_transfer_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let stack = folder.path().join("broken");
    fs::create_dir(&stack).unwrap();
    let text = fs::read_to_string(format!("{TEST_STACKS}/careless/stack.toml")).unwrap();
    fs::write(stack.join("stack.toml"), text.replace("name = \"careless\"", "name = \"broken\"")).unwrap();
    fs::write(stack.join("endpoint.pl"), "print STDERR \"cannot find libmissing.so.3\\n\"; exit 1;\n").unwrap();
    let out = folder.path().join("out");
    let mut command = quiclab();
    command.args(["stacks", "check", "broken", "--stacks", TEST_STACKS, "--stack"]).arg(&stack).arg("--out").arg(&out);
    let result = output_of(&mut command);
    assert_eq!(result.status, Some(1), "{}\n{}", result.output, result.errors);
    for part in ["FAIL broken: a file arrives complete", "| cannot find libmissing.so.3", "other claims were not tried"]
    {
        assert!(result.output.contains(part), "no {part:?} in\n{}", result.output);
    }
    assert!(
        result.errors.contains("hint: quiclab stacks try ") && result.errors.contains("/broken"),
        "{}",
        result.errors
    );
    let tried: Vec<_> = fs::read_dir(out.join("broken")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(tried, ["transfer"]);
}

#[test]
fn a_program_of_ones_own_is_a_stack() {
    let bench = Bench::new("name = \"tests/own\"\ntitle = \"x\"\n[stack]\nname = \"mine\"\n");
    let program = bench.out("mine.sh");
    fs::write(&program, "#!/bin/sh\necho \"$ROLE $TESTCASE ${QUICLAB_CCA-unset}\" >&2\nexit 127\n").unwrap();
    let run =
        |bench: &Bench| output_of(&mut bench.run(REAL_STACKS, "out", &["--stack", &program.display().to_string()]));
    let refused = run(&bench);
    assert!(refused.errors.contains("--stack") && refused.errors.contains("chmod +x"), "{}", refused.errors);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let result = run(&bench);
    assert_eq!(result.status, Some(1), "{}", result.errors);
    assert!(result.errors.contains("the server exited with 127"), "{}", result.errors);
    let failed = fs::read_dir(bench.out("out/failed")).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::read_to_string(failed.join("server/stderr")).unwrap(), "server transfer unset\n");
}

#[test]
fn a_program_that_keeps_the_contract_is_measured_as_it_is() {
    if !has_program("go", "golang") {
        return;
    }
    let bench = Bench::new(
        "name = \"tests/own\"\ntitle = \"x\"\n[workload]\nsize = \"256 KiB\"\n[stack]\nname = \"my-endpoint\"\nhttp = \"hq\"\n",
    );
    let program = bench.out("my-endpoint");
    let mut build = Command::new("go");
    build.args(["build", "-trimpath", "-o"]).arg(&program).arg(".");
    build.current_dir(format!("{REAL_STACKS}/quic-go")).env("CGO_ENABLED", "0");
    assert!(build.status().expect("this test needs Go").success());
    let result = output_of(&mut bench.run(REAL_STACKS, "out", &["--stack", &program.display().to_string()]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    let out = bench.out("out");
    let run = fs::read_to_string(out.join(&records(&out)[0]).join("run.toml")).unwrap();
    // Nothing is known of it, so nothing is set but what the experiment says.
    assert!(run.contains("congestion_control = \"default\"") && run.contains("http = \"hq\""), "{run}");
}

#[test]
fn a_stack_that_cannot_be_built_is_left_out_and_the_report_says_so() {
    let bench = Bench::new(
        "name = \"tests/missing\"\ntitle = \"x\"\n[workload]\nsize = \"64 KiB\"\n[matrix]\n\"stack.name\" = [\"broken\", \"misbehaving\"]\n",
    );
    let folder = bench.out("stacks");
    for (name, command) in [
        ("broken", "echo it is broken; exit 3"),
        ("misbehaving", "install -m 755 endpoint.pl \\\"$QUICLAB_STACK_OUT/\\\""),
    ] {
        fs::create_dir_all(folder.join(name)).unwrap();
        let text = fs::read_to_string(format!("{TEST_STACKS}/misbehaving/stack.toml")).unwrap();
        let text = text.replace("name = \"misbehaving\"", &format!("name = {name:?}"));
        let text = text.lines().map(|line| match line.starts_with("command = \"install") {
            true => format!("command = \"{command}\"\n"),
            false => format!("{line}\n"),
        });
        fs::write(folder.join(name).join("stack.toml"), text.collect::<String>()).unwrap();
        fs::copy(format!("{TEST_STACKS}/misbehaving/endpoint.pl"), folder.join(name).join("endpoint.pl")).unwrap();
    }
    let result = output_of(&mut bench.run(&folder.display().to_string(), "out", &[]));
    assert_eq!(result.status, Some(0), "{}", result.errors);
    assert!(result.errors.contains("skipping broken") && result.errors.contains("it is broken"), "{}", result.errors);
    let page = fs::read_to_string(bench.out("out/report.html")).unwrap();
    assert!(page.contains("skipped: it could not be built"), "the page says nothing of it");
}
