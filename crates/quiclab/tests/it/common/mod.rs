//! Starts the command as a user would.

#![allow(dead_code, reason = "each test program uses its own part")]

pub mod action;
pub mod endpoint;
pub mod hosts;
pub mod models;
pub mod prepared;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The folder of stacks for tests.
pub const TEST_STACKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stacks");
/// The real stacks.
pub const REAL_STACKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../stacks");

/// `quiclab`, to be started.
pub fn quiclab() -> Command {
    Command::new(env!("CARGO_BIN_EXE_quiclab"))
}

/// The agent that `quiclab` starts.
pub fn agent() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_quiclab")).with_file_name("quiclab-agent")
}

/// Whether `rsvg-convert` is missing, which PDF and PNG files need. Says that a test is skipped.
pub fn has_no_converter() -> bool {
    let is_missing = Command::new("rsvg-convert").arg("--version").output().is_err();
    if is_missing {
        eprintln!("skipped: no rsvg-convert; apt-get install librsvg2-bin");
    }
    is_missing
}

/// How a command ended and what it said.
#[derive(Debug)]
pub struct CommandOutput {
    pub status: Option<i32>,
    pub output: String,
    pub errors: String,
}

/// Runs a command to its end.
pub fn output_of(command: &mut Command) -> CommandOutput {
    let Output { status, stdout, stderr } = command.output().expect("the program can be started");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it speaks UTF-8");
    CommandOutput { status: status.code(), output: text(stdout), errors: text(stderr) }
}

/// An experiment file of these lines, and a folder for its results.
pub struct Bench {
    pub folder: tempfile::TempDir,
}

impl Bench {
    pub fn new(experiment: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("experiment.toml"), experiment).unwrap();
        Self { folder }
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("experiment.toml")
    }

    pub fn out(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `quiclab run` of the experiment with results in `out`. Each run is audited: one that violates a law counts as failed.
    pub fn run(&self, stacks: &str, out: &str, more: &[&str]) -> Command {
        let mut command = quiclab();
        command
            .arg("run")
            .arg(self.file())
            .args(["--stacks", stacks])
            .arg("--out")
            .arg(self.out(out))
            .arg("--audit")
            .args(more);
        command
    }
}

/// A program in `folder` that runs a shell script.
pub fn program(folder: &Path, name: &str, script: &str) {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A `PATH` with another folder in front.
pub fn path_with(folder: &Path) -> String {
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// Names of the whole records in a folder.
pub fn records(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .map(|entries| entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
        .unwrap_or_default();
    names.retain(|name| !name.starts_with('.') && folder.join(name).join("metrics.json").is_file());
    names.sort();
    names
}
