//! The agent's bytes are part of the identity of every run in a virtual machine: a comment must not change them, and what the agent does
//! must.
//!
//! Builds a copy of the two crates three times, with the flags of this workspace. The libraries stay in Cargo's folder for tests, so only
//! the first time takes long.

use std::{fs, path::Path, process::Command};

use quiclab_testing::files::repository;

/// The agent's crates. Nothing else is in the copy, so nothing else can decide about its bytes.
const CRATES: &[&str] = &[
    "crates/agent",
    "crates/content",
    "crates/agent-protocol",
    "crates/path",
    "crates/sandbox",
    "crates/units",
    "crates/wire",
];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn copy_of_workspace(to: &Path) {
    for file in ["Cargo.toml", "Cargo.lock"] {
        fs::copy(repository().join(file), to.join(file)).unwrap();
    }
    // Manifests name the crates for tests, and nothing of them is built.
    for folder in CRATES.iter().chain(&["crates/testing", ".cargo"]) {
        copy(&repository().join(folder), &to.join(folder));
    }
}

/// The executable that these sources make.
fn build(folder: &Path) -> Vec<u8> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("identity");
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--offline", "--quiet", "--package", "quiclab-agent"]).current_dir(folder);
    // The path of the workspace is not that of the copy, and other flags than those in .cargo/config.toml would hide them.
    command.env("CARGO_TARGET_DIR", &target).env_remove("RUSTFLAGS");
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_DEV_STRIP", "true");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read(target.join("x86_64-unknown-linux-gnu/debug/quiclab-agent")).unwrap()
}

/// Adds comments to every source: lines above everything, and inside of functions.
fn comment(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            comment(&entry.path());
        } else {
            let text = fs::read_to_string(entry.path()).unwrap();
            let text = text.replace("\n    let ", "\n    // A comment.\n    let ");
            fs::write(entry.path(), format!("// A comment,\n// and another one.\n\n{text}")).unwrap();
        }
    }
}

#[test]
fn a_comment_leaves_the_agents_bytes_alone_in_any_folder_and_a_constant_does_not() {
    let [first, second] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    copy_of_workspace(first.path());
    let plain = build(first.path());
    copy_of_workspace(second.path());
    for room in CRATES {
        comment(&second.path().join(room).join("src"));
    }
    assert!(build(second.path()) == plain, "comments changed the agent's bytes");
    let path = second.path().join("crates/agent/src/run.rs");
    let text = fs::read_to_string(&path).unwrap();
    let edited = text.replace(
        "const DRAIN_LIMIT: Duration = Duration::from_secs(5);",
        "const DRAIN_LIMIT: Duration = Duration::from_secs(6);",
    );
    assert_ne!(edited, text);
    fs::write(&path, edited).unwrap();
    assert!(build(second.path()) != plain, "another constant left the agent's bytes alone");
}
