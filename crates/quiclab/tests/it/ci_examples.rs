//! The examples of docs/guides/ci-examples.md: endpoints in Rust, Go and C behind the steps of action.yml, a green and a red run of each.
//! What the action would comment is left in target/ci-examples.

use std::{fs, path::Path, process::Command};

use crate::common::action::Job;
use crate::common::{REAL_STACKS, said};

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
        assert_eq!(said(&mut copy).status, Some(0));
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
