//! What a test needs of the machine, and what it says where that is lacking.

use std::{
    env,
    fmt::Display,
    fs,
    io::Write,
    process::{Command, Stdio},
};

/// Says on stderr that the test which runs is skipped, and why. The test returns then.
///
/// The line is `skipped: REASON`, in a form that a runner of tests collects. It is written past the capture of `cargo test`, which
/// shows nothing of a test that passes.
pub fn skip(reason: impl Display) {
    let line = format!("skipped: {reason}\n");
    // In one piece: tests run at the same time.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Whether a program can be started: a name that is looked for in `PATH`, or a path. Where it cannot, the test is [skipped](skip);
/// `package` is the one of Debian that has it.
#[must_use]
pub fn has_program(program: &str, package: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = if program.contains('/') {
        fs::metadata(program).is_ok()
    } else {
        env::split_paths(&path).any(|folder| folder.join(program).is_file())
    };
    if !is_there {
        skip(format_args!("{program} is not installed (apt-get install {package})"));
    }
    is_there
}

/// Whether the test has a process to itself, as cargo-nextest gives to each. Where not, it is [skipped](skip): it measures the memory of
/// the whole process.
#[must_use]
pub fn has_own_process() -> bool {
    let is_alone = env::var_os("NEXTEST").is_some();
    if !is_alone {
        skip("it measures the memory of its whole process: cargo nextest run");
    }
    is_alone
}

/// Whether root runs the test. Where not, it is [skipped](skip); `why` says what only root can do.
#[must_use]
pub fn has_root(why: &str) -> bool {
    let is_root = fs::read_to_string("/proc/self/status").is_ok_and(|text| text.contains("\nUid:\t0\t0"));
    if !is_root {
        skip(format_args!("only root can {why}"));
    }
    is_root
}

/// Whether this user can make user, mount, PID and network namespaces. Where not, the test is [skipped](skip).
#[must_use]
pub fn has_namespaces() -> bool {
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "--pid", "--fork", "--net", "true"]);
    let tried = unshare.stdin(Stdio::null()).output();
    let why = match tried {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; "),
        Err(error) => format!("unshare: {error}"),
    };
    skip(format_args!("this user cannot make namespaces: {why}"));
    false
}
