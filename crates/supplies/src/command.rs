//! Runs the host's programs, and says clearly when one is missing or fails.

use std::{
    ffi::OsStr,
    io,
    os::unix::process::CommandExt,
    process::{Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use crate::process::{Interrupted, end_with_parent};

/// Longest piece of a failed program's output that is shown, in bytes.
const SHOWN_OUTPUT: usize = 4000;

/// The most there is: what has nothing to do takes the rest.
const NICENESS: i32 = 19;

/// How often waiting looks at the flag that ends it.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs a command to its end and returns its standard output.
///
/// # Errors
/// Where the program is missing (with the Debian package that has it) or ends with another status than 0 (with the end
/// of what it printed).
pub fn output(command: &mut Command, package: &str) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| missing(command, package, error))?;
    if !output.status.success() {
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        bail!("{} ended with {}:\n{}", line(command), output.status, tail(&text));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What `command` starts runs when the machine has nothing else to do, as far as the system allows that to be said: a compiler beside a run
/// would make that take three times as long.
pub fn give_way(command: &mut Command) {
    // SAFETY: a system call alone, which is safe between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::nice(NICENESS);
            Ok(())
        });
    }
}

/// Runs a command that takes long. It and all its children are ended when `stop` is set.
///
/// # Errors
/// Where the program is missing or cannot be started, or when it was stopped.
pub fn supervise(command: &mut Command, package: &str, stop: &AtomicBool) -> Result<ExitStatus> {
    let parent = std::process::id();
    // SAFETY: system calls alone, which are safe between fork and exec.
    unsafe {
        command.stdin(Stdio::null()).process_group(0).pre_exec(move || end_with_parent(parent, Signal::SIGTERM));
    }
    let mut child = command.spawn().map_err(|error| missing(command, package, error))?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if stop.load(Ordering::Relaxed) {
            // The group is that of our child, which is not yet reaped.
            let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGTERM);
            child.wait()?;
            return Err(Interrupted::ByRequest.into());
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Runs `program` with `arguments`; see [`output`].
///
/// # Errors
/// As [`output`].
pub fn run<S: AsRef<OsStr>>(program: &str, arguments: &[S], package: &str) -> Result<String> {
    output(Command::new(program).args(arguments), package)
}

/// The first line a program prints of its version.
///
/// # Errors
/// As [`output`].
pub fn version(program: &str, package: &str) -> Result<String> {
    let text = run(program, &["--version"], package)?;
    Ok(text.lines().next().context("it printed no version").with_context(|| program.to_owned())?.to_owned())
}

fn missing(command: &Command, package: &str, error: io::Error) -> anyhow::Error {
    let program = command.get_program().to_string_lossy().into_owned();
    if error.kind() == io::ErrorKind::NotFound {
        anyhow::anyhow!("{program}: not found on this machine\nhint: apt-get install {package}")
    } else {
        anyhow::Error::new(error).context(program)
    }
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// The end of a long text, from a character boundary.
pub fn tail(text: &str) -> &str {
    let mut start = text.len().saturating_sub(SHOWN_OUTPUT);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].trim()
}

#[cfg(test)]
mod tests {
    use quiclab_testing::{processes_with, wait_until};

    use super::*;

    #[test]
    fn a_missing_program_names_its_package() {
        let error = run::<&str>("quiclab-no-such-program", &[], "some-package").unwrap_err().to_string();
        assert!(error.contains("quiclab-no-such-program: not found") && error.contains("apt-get install some-package"));
    }

    #[test]
    fn what_takes_long_is_ended_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & wait"]).current_dir(folder.path());
        let running = || processes_with(folder.path().to_str().unwrap()).len();
        let result = thread::scope(|scope| {
            scope.spawn(|| {
                wait_until("the child of the program", || running() == 2);
                stop.store(true, Ordering::Relaxed);
            });
            supervise(&mut command, "dash", &stop)
        });
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&Interrupted::ByRequest));
        wait_until("the end of both", || running() == 0);
    }

    #[test]
    fn a_failing_program_shows_what_it_said() {
        let error = run("sh", &["-c", "echo because >&2; exit 3"], "dash").unwrap_err().to_string();
        assert!(error.contains("because") && error.contains('3'), "{error}");
    }
}
