//! The steps of action.yml, run as the runner of GitHub does.

use std::{fs, os::unix::fs::symlink, path::PathBuf, process::Command};

use super::endpoint::write_endpoint;
use super::{CommandOutput, REAL_STACKS, output_of, path_with, program};

pub const ACTION: &str = include_str!("../../../../../action.yml");

/// The lines of a step.
pub fn step(name: &str) -> &'static str {
    let (_, rest) = ACTION.split_once(&format!("    - name: {name}\n")).unwrap_or_else(|| panic!("no step {name}"));
    rest.split("\n    - ").next().unwrap()
}

/// The script of a step.
pub fn script(name: &str) -> String {
    let (_, lines) = step(name).split_once("run: |\n").unwrap_or_else(|| panic!("{name} runs nothing"));
    lines.lines().map(|line| format!("{}\n", line.strip_prefix("        ").unwrap_or(line))).collect()
}

/// A job on a machine of GitHub: a workspace, and a release.
pub struct Job {
    folder: tempfile::TempDir,
    pub fail_if: &'static str,
}

impl Job {
    pub fn new() -> Self {
        let job = Self { folder: tempfile::tempdir().unwrap(), fail_if: "train_max_packets > 1.05x\n" };
        for folder in ["temp", "release", "tree/quiclab-0/bin", "work"] {
            fs::create_dir_all(job.path(folder)).unwrap();
        }
        // In place of the program of a release: the one that is tested.
        program(&job.path("tree/quiclab-0/bin"), "quiclab", &format!("exec {} \"$@\"", env!("CARGO_BIN_EXE_quiclab")));
        job.shell(
            "tar --create --xz --file release/quiclab-0-x86_64-linux.tar.xz --directory tree quiclab-0; cd release; \
                   sha256sum *.xz > SHA256SUMS",
        );
        symlink(REAL_STACKS, job.path("work/stacks")).unwrap();
        job
    }

    /// The same, with two builds of an endpoint and a promise.
    pub fn with_endpoint() -> Self {
        let job = Self::new();
        let gate = "name = \"gate\"\ntitle = \"A gate\"\n[stack]\nname = \"my-endpoint\"\n[workload]\nsize = \"1 MiB\"\nrepetitions = 3\n\
                    [[expect]]\nclaim = \"most packets leave in short trains\"\nmetric = \"train_share_of_packets_le_5\"\nat_least = 0.9\n";
        fs::write(job.path("work/gate.toml"), gate).unwrap();
        for build in ["base", "pr"] {
            write_endpoint(&job.path("work").join(build), |program| program);
        }
        job
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn shell(&self, script: &str) -> CommandOutput {
        output_of(Command::new("bash").args(["-e", "-c", script]).current_dir(self.folder.path()))
    }

    /// Runs a step as the runner does, with the variables that its `env` stands for.
    pub fn step(&self, name: &str, more: &[(&str, &str)]) -> CommandOutput {
        let mut shell = Command::new("bash");
        shell.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", &script(name)]);
        shell.current_dir(self.path("work"));
        let installed = self.path("temp/quiclab-release/installed/bin");
        shell.env("PATH", path_with(&installed));
        for (key, file) in [("GITHUB_OUTPUT", "output"), ("GITHUB_STEP_SUMMARY", "summary"), ("GITHUB_PATH", "path")] {
            shell.env(key, self.path(file));
        }
        shell.env("RUNNER_TEMP", self.path("temp")).env("FAIL_IF", self.fail_if);
        let usual =
            [("ENDPOINT", "pr"), ("BASE", "base"), ("EXPERIMENT", "gate.toml"), ("STRICT", "false"), ("OUT", "out")];
        shell.envs(usual).envs(more.iter().copied());
        for line in step(name).lines().skip_while(|line| line.trim() != "env:").skip(1) {
            let Some((variable, value)) = line.trim().split_once(": ${{ ") else { break };
            assert!(
                ["inputs.", "steps.", "github."].iter().any(|start| value.starts_with(start)),
                "{variable}: {value}"
            );
        }
        output_of(&mut shell)
    }

    pub fn install(&self) -> CommandOutput {
        let sum = self.shell("sha256sum release/SHA256SUMS").output;
        let release = self.path("release");
        self.step("Install", &[("RELEASE", release.to_str().unwrap()), ("SHA256", sum.split(' ').next().unwrap())])
    }

    /// The last value of an output.
    pub fn output(&self, name: &str) -> String {
        let text = fs::read_to_string(self.path("output")).unwrap();
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        lines.next_back().unwrap().to_owned()
    }
}
