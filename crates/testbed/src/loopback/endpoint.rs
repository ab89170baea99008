//! An endpoint as a process of this machine.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use nix::{
    sys::{
        resource::{Resource, getrlimit, setrlimit},
        signal::{Signal, kill},
    },
    unistd::Pid,
};

use super::{
    Root, keeper,
    sandbox::{Sandbox, give},
};
use crate::perform::Interrupted;

/// An endpoint's command could not be started.
#[derive(Debug, thiserror::Error)]
#[error(
    "{program} could not be started: {source}\nhint: guest.command in stack.toml names it; /stack has what the build \
     put into $QUICLAB_STACK_OUT; for a script, the program after #! must exist too"
)]
pub struct NotStarted {
    program: String,
    source: std::io::Error,
}

/// How often waiting looks.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Time from a polite signal to SIGKILL, as in the guest.
const GRACE: Duration = Duration::from_secs(1);
/// Processes and threads that the user may have who tries an endpoint. Linux does not count those of root.
const MOST_PROCESSES: u64 = 1 << 14;

/// What an endpoint is started with.
#[derive(Debug)]
pub struct Start<'a> {
    /// The file system that it sees.
    pub root: &'a Root,
    /// The command and its arguments.
    pub command: &'a [String],
    /// All its variables.
    pub environment: BTreeMap<String, String>,
    /// The folder that it is started in, by its name inside.
    pub folder: &'a Path,
    /// The folder for its `stdout` and `stderr`, which it may write to.
    pub logs: &'a Path,
    /// Other folders that it may write to, besides those of its root. These and `logs` have the same names outside and inside.
    pub writable: &'a [&'a Path],
    /// Bytes that each file that it writes may have; one more ends it by SIGXFSZ.
    pub most_file_bytes: u64,
}

/// A new file, also where an earlier endpoint has left something else under that name, such as a link.
fn create(path: &Path) -> std::io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::options().write(true).create_new(true).open(path)
}

/// A running endpoint. Dropping it ends it, and every process that it has started.
#[derive(Debug)]
pub struct Endpoint {
    child: Child,
    status: Option<ExitStatus>,
}

/// How an endpoint ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this status.
    Status(i32),
    /// It was ended by this signal.
    Signal(i32),
    /// It did not end within the time that it had.
    Timeout,
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(status) => write!(f, "exit status {status}"),
            Self::Signal(number) => match Signal::try_from(*number) {
                Ok(signal @ Signal::SIGXFSZ) => write!(f, "signal {number} ({signal}): it wrote too much to one file"),
                Ok(signal) => write!(f, "signal {number} ({signal})"),
                Err(_) => write!(f, "signal {number}"),
            },
            Self::Timeout => f.write_str("no exit in time"),
        }
    }
}

impl Endpoint {
    /// Starts an endpoint, in a PID namespace and a sandbox of its own.
    ///
    /// # Errors
    /// Where its program cannot be started.
    pub fn start(start: Start) -> Result<Self> {
        let [program, arguments @ ..] = start.command else { anyhow::bail!("guest.command: found no word") };
        let log = |name: &str| create(&start.logs.join(name)).with_context(|| start.logs.display().to_string());
        for folder in start.writable.iter().chain([&start.logs]) {
            give(folder, false)?;
        }
        let sandbox = Sandbox::new(start.root, start.folder, start.writable.iter().copied().chain([start.logs]))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(start.environment)
            .stdin(Stdio::null())
            .stdout(log("stdout")?)
            .stderr(log("stderr")?)
            .process_group(0);
        let (parent, most_file_bytes) = (std::process::id(), start.most_file_bytes);
        let most_processes = getrlimit(Resource::RLIMIT_NPROC)?.1.min(MOST_PROCESSES);
        let most_memory = getrlimit(Resource::RLIMIT_DATA)?.1.min(quiclab_sandbox::most_memory()?);
        // SAFETY: system calls alone, which are safe between fork and exec.
        unsafe {
            command.pre_exec(move || {
                setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
                setrlimit(Resource::RLIMIT_FSIZE, most_file_bytes, most_file_bytes)?;
                setrlimit(Resource::RLIMIT_NPROC, most_processes, most_processes)?;
                setrlimit(Resource::RLIMIT_DATA, most_memory, most_memory)?;
                keeper::enter(parent, &sandbox)
            });
        }
        let child = command.spawn().map_err(|source| NotStarted { program: program.to_string(), source })?;
        Ok(Self { child, status: None })
    }

    /// The process of this machine below which all of it runs.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// How it has ended; `None` while it runs.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn poll(&mut self) -> Result<Option<Exit>> {
        if self.status.is_none() {
            self.status = self.child.try_wait()?;
        }
        Ok(self.status.map(|status| match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Status(code),
            (None, signal) => Exit::Signal(signal.unwrap_or_default()),
        }))
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// What the kernel answers, or when `stop` is set.
    pub fn wait(&mut self, timeout: Duration, stop: &AtomicBool) -> Result<Exit> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(exit) = self.poll()? {
                return Ok(exit);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Interrupted::ByRequest.into());
            }
            if Instant::now() > deadline {
                return Ok(Exit::Timeout);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Kills it and everything that it has started, at once.
    pub fn kill(&self) {
        self.signal(keeper::KILL_ALL);
    }

    /// Ends it and everything that it has started: SIGTERM to its process group, and SIGKILL after a second.
    pub fn end(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        self.signal(libc::SIGTERM);
        let _ = self.wait(GRACE, &AtomicBool::new(false));
        self.kill();
        if self.status.is_none() {
            self.status = self.child.wait().ok();
        }
    }

    /// Sends a signal to its keeper, while there is one.
    fn signal(&self, signal: i32) {
        if self.status.is_none() {
            let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::try_from(signal).ok());
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.finish();
    }
}
