//! The examples of docs/guides/ci-examples.md: endpoints in Rust, Go and C behind the steps of action.yml, a green and a red run of each.
//! What the action would comment is left in target/ci-examples. And what all examples for CI let code of strangers do.

use std::{fs, path::Path, process::Command};

use crate::common::action::{ACTION, Job, step};
use crate::common::{REAL_STACKS, output_of};

/// A real endpoint, and a mistake of one line.
struct Example {
    stack: &'static str,
    file: &'static str,
    line: &'static str,
    mistake: &'static str,
    /// A condition that the mistake fails.
    fails: &'static str,
}

const FAIL_IF: &str = "train_max_packets > 1.05x\ndrops_packets > +20\ngoodput_wire_bps < -5%\n";
const GITLAB: &str = include_str!("../../../../docs/guides/gate.gitlab-ci.yml");
const GATE: &str = include_str!("../../../../docs/guides/ci-examples.toml");

fn run(example: &Example) {
    let Example { stack, file, line, mistake, fails } = example;
    let mut job = Job::new();
    job.fail_if = FAIL_IF;
    let name = format!("my-{stack}");
    fs::write(job.path("work/gate.toml"), GATE.replace("my-endpoint", &name)).unwrap();
    for build in ["base", "pr"] {
        let to = job.path("work").join(build);
        // What links lead to becomes part of the endpoint, as in a repository of its own.
        let mut copy = Command::new("cp");
        copy.args(["--recursive", "--dereference"]).arg(Path::new(REAL_STACKS).join(stack)).arg(&to);
        assert_eq!(output_of(&mut copy).status, Some(0));
        let _ = fs::remove_dir_all(to.join("target"));
        let manifest = fs::read_to_string(to.join("stack.toml")).unwrap();
        let named = manifest.replace(&format!("name = \"{stack}\"\n"), &format!("name = \"{name}\"\n"));
        assert_ne!(named, manifest);
        fs::write(to.join("stack.toml"), named).unwrap();
    }
    assert_eq!(job.install().status, Some(0));
    let keep = |colour: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/ci-examples").join(stack);
        fs::create_dir_all(&folder).unwrap();
        let comment = fs::read_to_string(job.path("work/out/comment.md")).unwrap();
        fs::write(folder.join(format!("{colour}.md")), &comment).unwrap();
        comment
    };

    // A change that the compiler sees and the network does not.
    let source = job.path("work/pr").join(file);
    let original = fs::read_to_string(&source).unwrap();
    assert_eq!(original.matches(line).count(), 1, "{file} has changed");
    let manifest = job.path("work/pr/stack.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text + "\n# A comment.\n").unwrap();
    let green = job.step("Gate", &[]);
    assert_eq!((green.status, &job.output("failed")[..]), (Some(0), "0"), "{}{}", green.output, green.errors);
    assert_eq!(job.step("Verdict", &[("FAILED", "0")]).status, Some(0));
    keep("green");

    fs::write(&source, original.replace(line, mistake)).unwrap();
    let red = job.step("Gate", &[]);
    assert_eq!(red.status, Some(0), "{}{}", red.output, red.errors);
    let failed = job.output("failed");
    assert_ne!(failed, "0", "{}{}", red.output, red.errors);
    assert_eq!(job.step("Verdict", &[("FAILED", &failed)]).status, Some(1));
    let comment = keep("red");
    assert!(comment.contains(&format!("- **FAILS**: fail if `{fails}`")), "{comment}");
}

/// Everything that somebody may copy into a workflow: the files for CI in docs, and the blocks of YAML in its pages.
fn workflows() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![("action.yml".to_owned(), ACTION.to_owned())];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.path().display().to_string());
            match path.extension().and_then(|kind| kind.to_str()) {
                _ if path.is_dir() => folders.push(path),
                Some("yml" | "yaml") => found.push((name, fs::read_to_string(&path).unwrap())),
                Some("md") => {
                    let text = fs::read_to_string(&path).unwrap();
                    let blocks = text.split("\n```yaml\n").skip(1).map(|rest| rest.split("\n```").next().unwrap());
                    found.extend(blocks.map(|block| (name.clone(), block.to_owned())));
                }
                _ => {}
            }
        }
    }
    found
}

/// What is wrong with a workflow that code of strangers runs in.
fn dangers(text: &str) -> Vec<String> {
    let mut dangers = Vec::new();
    let lines: Vec<_> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    for (number, line) in lines.iter().enumerate() {
        let event = line.trim_start().trim_start_matches("on:").trim().trim_matches(['[', ']', ':', '-', ' ']);
        if event.split(',').any(|event| event.trim() == "pull_request_target") {
            dangers.push(format!("{line}: code of a fork has the secrets and caches of the base branch"));
        }
        let Some((before, _)) = line.split_once("uses: actions/checkout") else { continue };
        // The lines of the step are indented more than its dash.
        let indent = before.find('-').unwrap_or(before.len());
        let is_of_step = |line: &&&str| line.trim().is_empty() || line.len() - line.trim_start().len() > indent;
        let mut step = lines[number + 1..].iter().take_while(is_of_step);
        if !step.any(|line| line.trim() == "persist-credentials: false") {
            dangers.push(format!("{line}: builds find the token in .git"));
        }
    }
    dangers
}

#[test]
fn no_example_gives_code_of_a_fork_the_rights_of_the_repository() {
    let workflows = workflows();
    let checkouts: usize = workflows.iter().map(|(_, text)| text.matches("actions/checkout").count()).sum();
    assert!(checkouts >= 4, "found {checkouts} checkouts in docs, expected those of the guide and of gate.yml");
    for (name, text) in &workflows {
        assert_eq!(dangers(text), Vec::<String>::new(), "{name}");
    }
    for danger in [
        "on: pull_request_target",
        "on: [push, pull_request_target]",
        "on:\n  pull_request_target:\n",
        "on:\n  - pull_request_target\n",
        "      - uses: actions/checkout@v4\n        with:\n          path: pr\n      - run: x\n        persist-credentials: false\n",
        "      - name: x\n        uses: actions/checkout@v4",
    ] {
        assert_eq!(dangers(danger).len(), 1, "{danger}");
    }
}

#[test]
fn the_action_refuses_the_event_that_gives_a_fork_the_caches_of_the_base_branch() {
    assert!(step("Event").contains("if: github.event_name == 'pull_request_target'"));
    let [event, cache] = ["Event", "Cache"].map(|name| ACTION.find(&format!("- name: {name}\n")).unwrap());
    assert!(event < cache, "the caches are restored before the event is looked at");
    let refused = Job::new().step("Event", &[]);
    assert_eq!(refused.status, Some(1));
    assert!(
        refused.errors.contains("found the event pull_request_target, expected pull_request"),
        "{}",
        refused.errors
    );
}

#[test]
fn caches_of_gitlab_are_those_of_one_merge_request() {
    let key = GITLAB.lines().find(|line| line.trim_start().starts_with("key:")).unwrap();
    for variable in ["$CI_COMMIT_REF_PROTECTED", "$CI_MERGE_REQUEST_IID", "$QUICLAB_SHA256"] {
        assert!(key.contains(variable), "{key}");
    }
    assert!(!GITLAB.contains("fallback_keys"), "a merge request reads what another one wrote");
}

#[test]
#[ignore = "builds endpoints; run it with make ci-examples"]
fn rust() {
    run(&Example {
        stack: "quinn",
        file: "src/transport.rs",
        line: "CongestionControl::Cubic => Arc::new(CubicConfig::default()),",
        mistake: "CongestionControl::Cubic => Arc::new({\n            let mut cubic = CubicConfig::default();\n            \
                  cubic.initial_window(1 << 20);\n            cubic\n        }),",
        fails: "drops_packets > +20",
    });
}

#[test]
#[ignore = "builds endpoints; run it with make ci-examples"]
fn go() {
    run(&Example {
        stack: "quic-go",
        file: "main.go",
        line: "config := &quic.Config{Tracer: qlog.DefaultConnectionTracer}",
        mistake: "config := &quic.Config{Tracer: qlog.DefaultConnectionTracer, InitialStreamReceiveWindow: 64 << 10, \
                  MaxStreamReceiveWindow: 64 << 10}",
        fails: "goodput_wire_bps < -5%",
    });
}

#[test]
#[ignore = "builds endpoints; run it with make ci-examples"]
fn c() {
    run(&Example {
        stack: "ngtcp2",
        file: "endpoint.sh",
        line: "set -- --quiet --cc=\"$cca\"",
        mistake: "set -- --quiet --cc=\"$cca\" --max-stream-data-bidi-local=64K --max-window=64K",
        fails: "goodput_wire_bps < -5%",
    });
}
