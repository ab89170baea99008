//! The scripts of action.yml, run in order as they are written: a build that changes nothing passes, a regression does not.

use std::fs;

use crate::common::action::{ACTION, Job, script};
use crate::common::endpoint::{regressed, write_endpoint};

const GUIDE: &str = include_str!("../../../../docs/guides/ci-action.md");
const TEMPLATE: &str = include_str!("../../../../docs/guides/gate.gitlab-ci.yml");

#[test]
fn a_build_that_changes_nothing_passes_and_a_regression_is_stopped() {
    let job = Job::with_endpoint();
    let output = job.install();
    assert_eq!(output.status, Some(0), "{}{}", output.output, output.errors);
    assert!(fs::read_to_string(job.path("path")).unwrap().ends_with("installed/bin\n"));
    let output = job.step("Gate", &[]);
    assert_eq!((output.status, job.output("failed").as_str()), (Some(0), "0"), "{}{}", output.output, output.errors);
    assert_eq!(job.step("Verdict", &[("FAILED", "0")]).status, Some(0));
    write_endpoint(&job.path("work").join("pr"), regressed);
    let output = job.step("Gate", &[]);
    // The condition and the promise.
    assert_eq!((output.status, job.output("failed").as_str()), (Some(0), "2"), "{}{}", output.output, output.errors);
    let output = job.step("Verdict", &[("FAILED", "2")]);
    assert!(output.status == Some(1) && output.errors.contains("found 2 failed"), "{}", output.errors);
    let comment = fs::read_to_string(job.path("work").join(job.output("comment"))).unwrap();
    assert!(comment.contains("**FAILS**: fail if") && comment.contains("short trains"), "{comment}");
    assert!(comment.contains("\u{1f7e5}"), "the picture shows bursts: {comment}");
    assert!(fs::read_to_string(job.path("summary")).unwrap().contains("short trains"));
    assert!(fs::read_dir(job.path("work/out/figures")).unwrap().count() > 0);
}

#[test]
fn without_a_base_promises_are_checked() {
    let job = Job::with_endpoint();
    write_endpoint(&job.path("work").join("pr"), regressed);
    assert_eq!(job.install().status, Some(0));
    let output = job.step("Gate", &[("BASE", "")]);
    assert_eq!((output.status, job.output("failed").as_str()), (Some(0), "1"), "{}{}", output.output, output.errors);
}

#[test]
fn a_release_with_other_bytes_is_not_installed() {
    let job = Job::with_endpoint();
    let release = job.path("release");
    let output = job.step("Install", &[("RELEASE", release.to_str().unwrap()), ("SHA256", &"0".repeat(64))]);
    assert_ne!(output.status, Some(0));
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
    assert!(TEMPLATE.contains("SHA256SUMS") && TEMPLATE.contains("quiclab tools prepare --from ."));
}
