//! Programs that do what they must not: `examples/hostile.rs` has the modes.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use quiclab_experiment::{
    run::{Run, Settings},
    stack::StackManifest,
};
use tempfile::TempDir;

use super::{program::Program, transfers::perform};
use crate::{
    perform::{Host, Interrupted, Side, Sides},
    sandbox::available,
    testbed::{Attempt, Place},
};

const MANIFEST: &str = include_str!("../../../../sans-io/quinn/stack.toml");
/// How long a run may take: longer than any of these, and than the 10 s for an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A run between a client in a mode and a server that says nothing.
struct Trial {
    place: TempDir,
    stop: Arc<AtomicBool>,
    timeout: Duration,
}

impl Trial {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        for folder in ["work", "record"] {
            fs::create_dir(place.path().join(folder)).unwrap();
        }
        Self { place, stop: Arc::default(), timeout: TIMEOUT }
    }

    fn run(&self, client: &[&str]) -> Result<Attempt> {
        self.run_in(self.place.path(), client)
    }

    /// `place`: another name of the folder.
    fn run_in(&self, place: &Path, client: &[&str]) -> Result<Attempt> {
        let manifest = StackManifest::parse("stack.toml", MANIFEST).unwrap();
        let program = |arguments: &[&str]| {
            let words = arguments.iter().map(PathBuf::from);
            let executable = hostile();
            let files = Some(executable.clone());
            Program { command: [executable].into_iter().chain(words).collect(), files, digest: String::new() }
        };
        let [server, client] = [program(&["quiet"]), program(client)];
        let sides = Sides {
            server: Side { manifest: &manifest, stack: &server },
            client: Side { manifest: &manifest, stack: &client },
        };
        let (experiment, label) = ("x".to_owned(), String::new());
        let (start_shift, settings) = (quiclab_units::Duration::default(), Settings::default());
        let run = Run { experiment, repetition: 1, seed: 1, start_shift, settings, label };
        let [draft, work] = ["record", "work"].map(|name| place.join(name));
        let host = Host { core: 0, stop: self.stop.clone(), timeout: self.timeout, wait_for_quiet: Duration::ZERO };
        perform(&run, sides, Place { draft: &draft, work: &work }, &host)
    }

    /// Why the run failed.
    fn failure(&self, client: &[&str]) -> String {
        self.run(client).unwrap().failure.expect("a run that fails").to_string()
    }

    /// What the client could do: its words.
    fn attempt(client: &[&str]) -> String {
        let trial = Self::new();
        let failure = trial.failure(client);
        let words = fs::read_to_string(trial.place.path().join("record/client/stderr")).unwrap();
        assert!(failure.contains("exit status 3") || failure.contains("exit status 4"), "{failure}\n{words}");
        words
    }
}

/// The program, which cargo builds with the tests.
pub(crate) fn hostile() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.ancestors().nth(2).unwrap().join("examples/hostile");
    assert!(path.is_file(), "{}: not built; cargo build -p quiclab-testbed --examples", path.display());
    path
}

fn is_refused(client: &[&str]) {
    let words = Trial::attempt(client);
    assert!(words.contains("it was not possible"), "{client:?}: {words}");
}

#[test]
fn answers_that_lie_about_their_length_end_the_run() {
    for (mode, expected) in [
        ("long", "the client: its answer: found a length of 4294967295 bytes, expected at most 16777216"),
        ("count", "the client: its answer: found 0 bytes where 1 are expected"),
        ("segments", "buffer 1: found 60000 datagrams of 1 bytes, expected at most 128"),
        // 16 MiB of zeros are an answer without buffers and with something behind it.
        ("endless", "bytes after its last buffer, expected none"),
    ] {
        let failure = Trial::new().failure(&[mode]);
        assert!(failure.contains(expected), "{mode}: {failure}");
    }
}

#[test]
fn a_client_that_wants_to_be_called_at_once_for_ever_is_found_before_the_deadline() {
    for (mode, expected) in
        [("now", "at one point in virtual time"), ("past", "at one point in virtual time"), ("soon", "calls in a row")]
    {
        // After the host's patience it would have been the deadline.
        let failure = Trial::new().failure(&[mode]);
        assert!(failure.starts_with("the client: found") && failure.contains(expected), "{mode}: {failure}");
    }
}

#[test]
fn a_client_that_floods_the_path_is_ended_before_memory_is_full() {
    for mode in ["flood", "tiny"] {
        let failure = Trial::new().failure(&[mode]);
        assert!(failure.contains("the client: found far more bytes sent than the transfer has"), "{mode}: {failure}");
    }
    // All tests of this process together.
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 1_500_000, "{kilobytes} kB");
}

#[test]
fn the_patience_of_the_host_ends_a_run_whatever_a_program_does() {
    for mode in ["short", "slow", "stubborn"] {
        let trial = Trial { timeout: Duration::from_millis(700), ..Trial::new() };
        let start = Instant::now();
        let error = trial.run(&[mode]).unwrap_err();
        // Any other end has another name.
        assert_eq!(error.downcast_ref(), Some(&Interrupted::ByDeadline(trial.timeout)), "{mode}: {error:#}");
        assert!(start.elapsed() >= trial.timeout, "{mode}: {:?}", start.elapsed());
    }
}

#[test]
fn a_signal_ends_a_run_with_a_program_that_ignores_signals() {
    let trial = Trial::new();
    let stop = trial.stop.clone();
    let signalled = thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        stop.store(true, Ordering::Relaxed);
    });
    let error = trial.run(&["stubborn"]).unwrap_err();
    signalled.join().unwrap();
    // Not by the deadline, which would end it too.
    assert_eq!(error.downcast_ref(), Some(&Interrupted::ByRequest));
}

#[test]
fn a_program_that_aborts_ends_with_the_signal_it_sent_itself() {
    let failure = Trial::new().failure(&["abort"]);
    assert!(failure.contains("SIGABRT") || failure.contains("signal 6") || failure.contains("signal: 6"), "{failure}");
}

#[test]
fn a_program_gets_neither_more_memory_nor_processes_than_it_may() {
    is_refused(&["allocate"]);
    is_refused(&["memfd"]);
    is_refused(&["fork"]);
    is_refused(&["daemon"]);
    // The kernel counts the threads of everybody but root.
    if available().namespaces.is_ok() && !nix::unistd::geteuid().is_root() {
        is_refused(&["threads"]);
    }
}

#[test]
fn a_program_opens_no_sockets() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    is_refused(&["udp"]);
    is_refused(&["tcp", &listener.local_addr().unwrap().to_string()]);
    is_refused(&["listen"]);
    is_refused(&["unix"]);
}

#[test]
fn a_program_reads_files_of_the_system_and_none_of_the_user() {
    let own = tempfile::tempdir().unwrap();
    let secret = own.path().join("id_ed25519");
    fs::write(&secret, "secret").unwrap();
    is_refused(&["read", secret.to_str().unwrap()]);
    is_refused(&["read", "/etc/passwd"]);
    is_refused(&["read", &format!("/proc/{}/environ", std::process::id())]);
    is_refused(&["list", own.path().to_str().unwrap()]);
    is_refused(&["list", &std::env::var("HOME").unwrap_or("/root".to_owned())]);
    is_refused(&["write", own.path().join("new").to_str().unwrap()]);
    is_refused(&["write", "/tmp/quiclab-forged"]);
    // What it needs is there.
    assert!(Trial::attempt(&["list", "/usr"]).contains("it was possible"));
    assert!(Trial::attempt(&["read", "certificates/ca.pem"]).contains("it was possible"));
    assert!(Trial::attempt(&["read", "/dev/urandom"]).contains("it was possible"));
    assert!(Trial::attempt(&["write", "logs/mine"]).contains("it was possible"));
}

#[test]
fn a_program_finds_its_folders_where_a_symbolic_link_leads_to_them() {
    let trial = Trial::new();
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(trial.place.path(), &link).unwrap();
    let failure = trial.run_in(&link, &["grow"]).unwrap().failure.expect("a run that fails").to_string();
    // It could write where `LOGS` says.
    assert!(failure.contains("exit status 3"), "{failure}");
}

#[test]
fn a_client_does_not_reach_the_files_that_its_server_sends() {
    for path in ["../server/www", "../server/certificates", ".."] {
        is_refused(&["list", path]);
    }
    let trial = Trial::new();
    let server = trial.place.path().join("work/server/certificates/priv.key");
    let failure = trial.failure(&["read", server.to_str().unwrap()]);
    assert!(server.is_file() && failure.contains("exit status 4"), "{failure}");
}

#[test]
fn a_program_ends_no_other_process() {
    let mut other = std::process::Command::new("/bin/sleep").arg("1000").spawn().unwrap();
    is_refused(&["kill", &other.id().to_string()]);
    assert!(other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_program_makes_no_links_in_its_logs() {
    is_refused(&["link", "/etc/passwd"]);
}

#[test]
fn a_program_that_fills_the_disk_is_ended() {
    let failure = Trial::new().failure(&["files"]);
    assert!(failure.contains("the client: its folder: found more than 10001 files and folders"), "{failure}");
    let failure = Trial::new().failure(&["sparse"]);
    assert!(failure.contains("bytes in its files"), "{failure}");
}
