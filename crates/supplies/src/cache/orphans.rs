//! Processes of a build that went on when quiclab was killed.
//!
//! The kernel ends the shell that a build began with, and not what the shell has started: a compiler goes on for minutes, and writes into
//! folders that another build uses by then.

use std::{fs, os::unix::ffi::OsStrExt, path::Path, thread, time::Duration};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// Variable by which a build knows where its files go, and by which its processes are known.
const VARIABLE: &[u8] = b"QUICLAB_STACK_OUT=";
/// How often it is looked whether they have ended, and how long in between.
const LOOKS: usize = 100;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Ends the processes that build something into `folder`, or below it. For who holds the lock on it.
pub(super) fn end(folder: &Path) {
    for _ in 0..LOOKS {
        let found = of(folder);
        if found.is_empty() {
            return;
        }
        for process in found {
            // One that has ended meanwhile is what is wanted.
            let _ = kill(process, Signal::SIGKILL);
        }
        thread::sleep(BETWEEN_LOOKS);
    }
}

/// Processes whose environment, which others of this user can read, names a place below `folder`.
fn of(folder: &Path) -> Vec<Pid> {
    let mut place = VARIABLE.to_vec();
    place.extend(folder.as_os_str().as_bytes());
    place.push(b'/');
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        // Empty for one that has ended and was not waited for yet.
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(&place)) {
            found.push(Pid::from_raw(number));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_a_killed_build_has_started_is_ended_and_other_builds_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let start = |name: &str| {
            let out = folder.path().join(name).join("files");
            Command::new("sleep").arg("1000").env("QUICLAB_STACK_OUT", out).spawn().unwrap()
        };
        let [mut left, mut other] = ["left", "left-2"].map(start);
        while of(folder.path()).len() < 2 {
            thread::yield_now();
        }
        end(&folder.path().join("left"));
        assert!(!left.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
