//! The first signal ends every verb at once, even where it waits for a pipe that says nothing.

use std::{
    fs::{self, File, OpenOptions},
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::common::{TEST_STACKS, quiclab};
use quiclab_testing::{Wakings, wait_until};

/// Most time from the signal to the end, on a machine that wakes threads when they asked for it. The command's own part is some 100 ms.
const MOST: Duration = Duration::from_millis(300);
/// How many times one after the other the machine may be late on the way from the signal to the end, as a generous guess.
const LATE: u32 = 20;
/// A machine that is late once, and not when it was looked at, may miss it once.
const TRIES: usize = 3;

/// Ends a test that hangs; it measures nothing.
const HANG: Duration = Duration::from_secs(300);

/// A pipe with a name.
fn pipe(folder: &Path) -> String {
    let path = folder.join("pipe.toml");
    if !path.exists() {
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    }
    path.display().to_string()
}

/// Waits until the process sleeps in a read, an open or a wait for another thread, and stays so.
fn wait_until_it_sleeps(child: &mut Child, command: &Command) {
    let mut asleep = 0;
    wait_until("a process that sleeps", || {
        assert!(child.try_wait().unwrap().is_none(), "{command:?} ended before the signal");
        let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap().flatten();
        let sleeps = |stat: String| stat.rsplit_once(')').is_some_and(|(_, rest)| rest.starts_with(" S"));
        let all = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok()).all(sleeps);
        asleep = if all { asleep + 1 } else { 0 };
        asleep == 24
    });
}

/// Starts `quiclab` with a standard input that stays open and says nothing, and returns how long it lives after a signal,
/// without what is the machine's: [`LATE`] times how late it wakes a thread meanwhile.
fn end_after(signal: i32, command: &mut Command) -> (Duration, Option<i32>) {
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let as_in_a_terminal = || {
        // A shell without job control starts what it puts into the background with SIGINT ignored, and children inherit that.
        for signal in [libc::SIGINT, libc::SIGTERM] {
            // SAFETY: a plain system call.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: what runs in the child before the program is async-signal-safe.
    let mut child = unsafe { command.pre_exec(as_in_a_terminal) }.spawn().unwrap();
    wait_until_it_sleeps(&mut child, command);
    let (start, wakings) = (Instant::now(), Wakings::watch());
    // SAFETY: plain system call on our own child.
    unsafe { libc::kill(child.id() as i32, signal) };
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() > HANG => {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("hung: {command:?} goes on minutes after signal {signal}");
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    let elapsed = start.elapsed();
    (
        elapsed.saturating_sub(LATE * wakings.latest()),
        status.code().or(std::os::unix::process::ExitStatusExt::signal(&status).map(|number| 128 + number)),
    )
}

fn assert_ends_at_once(command: &mut Command) {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut took = Vec::new();
        while took.iter().all(|one| *one > MOST) {
            let (elapsed, status) = end_after(signal, command);
            assert!(status == Some(130) || status == Some(128 + signal), "{command:?}: {status:?}");
            took.push(elapsed);
            assert!(took.len() < TRIES || elapsed <= MOST, "{command:?}: signal {signal}: {took:?}");
        }
    }
}

fn in_folder(arguments: impl FnOnce(&str) -> Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let pipe = pipe(folder.path());
    assert_ends_at_once(quiclab().args(arguments(&pipe)).current_dir(folder.path()));
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn analyze_ends_while_it_opens_a_pipe() {
    in_folder(|pipe| words(&["analyze", pipe]));
    in_folder(|pipe| words(&["analyze", "--threads", "1", "--json", pipe]));
    in_folder(|pipe| words(&["analyze", pipe, pipe]));
}

#[test]
fn analyze_ends_while_standard_input_is_silent() {
    assert_ends_at_once(quiclab().args(["analyze", "-"]));
}

#[test]
fn analyze_ends_while_a_pipe_is_silent_behind_the_beginning_of_a_capture() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = pipe(folder.path());
    // Reading and writing, so that opening it does not wait, and the pipe stays open.
    let mut writer: File =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&pipe).unwrap();
    for threads in ["1", "2"] {
        // The header of a classic capture of Ethernet frames.
        let header = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
        let mut command = quiclab();
        command.args(["analyze", "--threads", threads, "--parquet", "rows", &pipe]).current_dir(folder.path());
        // What earlier tries did not read is still there.
        std::io::Write::write_all(&mut writer, &header).unwrap();
        let (took, status) = end_after(libc::SIGINT, &mut command);
        assert_eq!(status, Some(130));
        assert!(took < 3 * MOST, "{took:?}");
        let left: Vec<_> =
            fs::read_dir(folder.path().join("rows")).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(left.is_empty(), "an orderly end leaves nothing half-written: {left:?}");
    }
}

#[test]
fn analyze_ends_while_it_waits_for_keys_a_qlog_or_planned_times() {
    for option in ["--keys", "--qlog", "--planned"] {
        in_folder(|pipe| words(&["analyze", option, pipe, pipe]));
    }
}

#[test]
fn packets_ends_while_a_pipe_is_silent() {
    in_folder(|pipe| words(&["packets", pipe]));
}

#[test]
fn verbs_that_run_end_while_their_file_is_a_silent_pipe() {
    in_folder(|pipe| words(&["run", pipe, "--stacks", TEST_STACKS]));
    in_folder(|pipe| words(&["tools", "perform", pipe, "--stacks", TEST_STACKS, "--record", "record"]));
    in_folder(|pipe| words(&["tools", "perform", "-", "--stacks", TEST_STACKS, "--record", pipe]));
    in_folder(|pipe| words(&["tools", "prepare", pipe, "--stacks", TEST_STACKS]));
    in_folder(|pipe| words(&["ab", "misbehaving", "misbehaving", pipe, "--stacks", TEST_STACKS]));
    in_folder(|pipe| words(&["stacks", "import", "--implementations", pipe, "--stacks", TEST_STACKS]));
}

#[test]
fn a_scan_ends_while_its_list_its_exclusions_or_its_tables_are_a_silent_pipe() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("targets"), "192.0.2.1\n").unwrap();
    let pipe = pipe(folder.path());
    for arguments in [
        ["scan", "-", "--contact", "https://a.example"],
        ["scan", "targets", "--dry-run", &format!("--exclude={pipe}")],
        ["scan", "--from", "targets", &format!("--prefixes={pipe}")],
        ["scan", "--from", "targets", &format!("--cdns={pipe}")],
        ["scan", "--from", "targets", &format!("--keys={pipe}")],
    ] {
        assert_ends_at_once(quiclab().args(arguments).current_dir(folder.path()));
    }
    // What is read more than once is refused instead.
    let done = quiclab().args(["scan", &pipe, "--dry-run"]).output().unwrap();
    let errors = String::from_utf8(done.stderr).unwrap();
    assert!(errors.contains("found a FIFO, expected a regular file"), "{errors}");
}
