//! The scripts of action.yml, run in order as they are written: a build that changes nothing passes, a regression does not.

mod common;

use std::{fs, os::unix::fs::symlink, path::PathBuf, process::Command};

use common::endpoint::{regressed, write_endpoint};
use common::{REAL_STACKS, Said, program, said};

const ACTION: &str = include_str!("../../../action.yml");
const GUIDE: &str = include_str!("../../../docs/guides/ci-action.md");
const TEMPLATE: &str = include_str!("../../../docs/guides/gate.gitlab-ci.yml");

/// The lines of a step.
fn step(name: &str) -> &'static str {
    let (_, rest) = ACTION.split_once(&format!("    - name: {name}\n")).unwrap_or_else(|| panic!("no step {name}"));
    rest.split("\n    - ").next().unwrap()
}

/// The script of a step.
fn script(name: &str) -> String {
    let (_, lines) = step(name).split_once("run: |\n").unwrap_or_else(|| panic!("{name} runs nothing"));
    lines.lines().map(|line| format!("{}\n", line.strip_prefix("        ").unwrap_or(line))).collect()
}

/// A job on a machine of GitHub: a workspace with two builds, and a release.
struct Job {
    folder: tempfile::TempDir,
    fail_if: &'static str,
}

impl Job {
    fn new() -> Self {
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
        let gate = "name = \"gate\"\ntitle = \"A gate\"\n[stack]\nname = \"my-endpoint\"\n[workload]\nsize = \"1 MiB\"\nrepetitions = 3\n\
                    [[expect]]\nclaim = \"most packets leave in short trains\"\nmetric = \"train_share_of_packets_le_5\"\nat_least = 0.9\n";
        fs::write(job.path("work/gate.toml"), gate).unwrap();
        for build in ["base", "pr"] {
            write_endpoint(&job.path("work").join(build), |program| program);
        }
        job
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn shell(&self, script: &str) -> Said {
        said(Command::new("bash").args(["-e", "-c", script]).current_dir(self.folder.path()))
    }

    /// Runs a step as the runner does, with the variables that its `env` stands for.
    fn step(&self, name: &str, more: &[(&str, &str)]) -> Said {
        let mut shell = Command::new("bash");
        shell.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", &script(name)]);
        shell.current_dir(self.path("work"));
        let installed = self.path("temp/quiclab-release/installed/bin");
        shell.env("PATH", common::path_with(&installed));
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
        said(&mut shell)
    }

    fn install(&self) -> Said {
        let sum = self.shell("sha256sum release/SHA256SUMS").output;
        let release = self.path("release");
        self.step("Install", &[("RELEASE", release.to_str().unwrap()), ("SHA256", sum.split(' ').next().unwrap())])
    }

    /// The last value of an output.
    fn output(&self, name: &str) -> String {
        let text = fs::read_to_string(self.path("output")).unwrap();
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        lines.next_back().unwrap().to_owned()
    }
}

#[test]
fn a_build_that_changes_nothing_passes_and_a_regression_is_stopped() {
    let job = Job::new();
    let said = job.install();
    assert_eq!(said.status, Some(0), "{}{}", said.output, said.errors);
    assert!(fs::read_to_string(job.path("path")).unwrap().ends_with("installed/bin\n"));
    let said = job.step("Gate", &[]);
    assert_eq!((said.status, job.output("failed").as_str()), (Some(0), "0"), "{}{}", said.output, said.errors);
    assert_eq!(job.step("Verdict", &[("FAILED", "0")]).status, Some(0));
    write_endpoint(&job.path("work").join("pr"), regressed);
    let said = job.step("Gate", &[]);
    // The condition and the promise.
    assert_eq!((said.status, job.output("failed").as_str()), (Some(0), "2"), "{}{}", said.output, said.errors);
    let said = job.step("Verdict", &[("FAILED", "2")]);
    assert!(said.status == Some(1) && said.errors.contains("found 2 failed"), "{}", said.errors);
    let comment = fs::read_to_string(job.path("work").join(job.output("comment"))).unwrap();
    assert!(comment.contains("**FAILS**: fail if") && comment.contains("short trains"), "{comment}");
    assert!(fs::read_to_string(job.path("summary")).unwrap().contains("short trains"));
    assert!(fs::read_dir(job.path("work/out/figures")).unwrap().count() > 0);
}

#[test]
fn without_a_base_promises_are_checked() {
    let job = Job::new();
    write_endpoint(&job.path("work").join("pr"), regressed);
    assert_eq!(job.install().status, Some(0));
    let said = job.step("Gate", &[("BASE", "")]);
    assert_eq!((said.status, job.output("failed").as_str()), (Some(0), "1"), "{}{}", said.output, said.errors);
}

#[test]
fn a_release_with_other_bytes_is_not_installed() {
    let job = Job::new();
    let release = job.path("release");
    let said = job.step("Install", &[("RELEASE", release.to_str().unwrap()), ("SHA256", &"0".repeat(64))]);
    assert_ne!(said.status, Some(0));
    assert!(!job.path("path").exists());
    fs::write(release.join("quiclab-0-x86_64-linux.tar.xz"), "another").unwrap();
    assert_ne!(job.install().status, Some(0));
    assert!(!job.path("path").exists());
}

#[test]
fn texts_of_a_pull_request_reach_scripts_as_variables_only() {
    for name in ["Install", "Gate", "Comment", "Verdict"] {
        assert!(
            !script(name).contains("${{"),
            "{name} has an expression in its script, which a pull request could write"
        );
    }
}

#[test]
fn the_guide_uses_inputs_that_there_are_and_the_template_the_same_files() {
    let (inputs, _) = ACTION.split_once("\noutputs:").unwrap();
    let (_, used) = GUIDE.split_once("      - uses: OWNER/quiclab@COMMIT\n        with:\n").unwrap();
    let names = used.lines().take_while(|line| line.starts_with("          "));
    let names: Vec<_> = names.filter_map(|line| line.strip_prefix("          ")?.split_once(':')).collect();
    assert!(names.len() >= 6);
    for (name, _) in names.iter().filter(|(name, _)| !name.starts_with(' ')) {
        assert!(inputs.contains(&format!("\n  {name}:\n")), "action.yml has no input {name}");
    }
    assert!(TEMPLATE.contains("SHA256SUMS") && TEMPLATE.contains("quiclab prepare --from ."));
}
