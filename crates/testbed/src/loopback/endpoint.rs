//! An endpoint as a process of this machine.

use std::{
    collections::BTreeMap,
    ffi::CString,
    fs::{self, File},
    os::unix::{
        ffi::OsStrExt,
        process::{CommandExt, ExitStatusExt},
    },
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use nix::{
    errno::Errno,
    sys::{
        resource::{Resource, setrlimit},
        signal::{Signal, kill, killpg},
        wait::waitpid,
    },
    unistd::Pid,
};

use super::Root;
use crate::{child::end_with_parent, perform::Interrupted};

/// How often waiting looks.
const GLANCE: Duration = Duration::from_millis(5);
/// Time from a polite signal to SIGKILL, as in the guest.
const GRACE: Duration = Duration::from_secs(1);
/// Bytes that one file of an endpoint may have.
const MOST_FILE_BYTES: u64 = 1 << 30;

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
    /// The folder for its `stdout` and `stderr`.
    pub logs: &'a Path,
}

/// A running endpoint. Dropping it ends it.
#[derive(Debug)]
pub struct Endpoint {
    child: Child,
    status: Option<ExitStatus>,
}

/// How an endpoint ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
    /// Not at all within the time that it had.
    Timeout,
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(status) => write!(f, "exit status {status}"),
            Self::Signal(number) => match Signal::try_from(*number) {
                Ok(signal) => write!(f, "signal {number} ({signal})"),
                Err(_) => write!(f, "signal {number}"),
            },
            Self::Timeout => f.write_str("no exit in time"),
        }
    }
}

impl Endpoint {
    /// Starts an endpoint, in a process group of its own.
    ///
    /// # Errors
    /// Where its program cannot be started.
    pub fn start(start: Start) -> Result<Self> {
        let [program, arguments @ ..] = start.command else { anyhow::bail!("guest.command: found no word") };
        let log = |name: &str| File::create(start.logs.join(name)).with_context(|| start.logs.display().to_string());
        let path = |path: &Path| CString::new(path.as_os_str().as_bytes()).context("a path with a zero byte");
        let (root, folder) = (path(start.root.folder())?, path(start.folder)?);
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(start.environment)
            .stdin(Stdio::null())
            .stdout(log("stdout")?)
            .stderr(log("stderr")?)
            .process_group(0);
        let parent = std::process::id();
        // SAFETY: system calls alone, which are safe between fork and exec.
        unsafe {
            command.pre_exec(move || {
                setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
                setrlimit(Resource::RLIMIT_FSIZE, MOST_FILE_BYTES, MOST_FILE_BYTES)?;
                Errno::result(libc::chroot(root.as_ptr()))?;
                Errno::result(libc::chdir(folder.as_ptr()))?;
                end_with_parent(parent, libc::SIGKILL)
            });
        }
        let child = command.spawn().with_context(|| {
            format!("starting {program}\nhint: guest.command of stack.toml; what the build leaves in $QUICLAB_STACK_OUT is at /stack")
        })?;
        Ok(Self { child, status: None })
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
    pub fn wait(&mut self, patience: Duration, stop: &AtomicBool) -> Result<Exit> {
        let deadline = Instant::now() + patience;
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
            thread::sleep(GLANCE);
        }
    }

    /// Sends a signal to it and all of its process group.
    pub fn signal(&self, signal: Signal) {
        let _ = killpg(self.group(), signal);
    }

    /// Ends it and all of its process group: SIGTERM, and SIGKILL after a second.
    pub fn end(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        self.signal(Signal::SIGTERM);
        let _ = self.wait(GRACE, &AtomicBool::new(false));
        self.signal(Signal::SIGKILL);
        if self.status.is_none() {
            self.status = self.child.wait().ok();
        }
    }

    fn group(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if self.status.is_none() {
            self.finish();
        }
    }
}

/// Ends the processes that endpoints have left behind: all children of this process but those in `others`. Returns how many
/// there were.
///
/// # Errors
/// Where `/proc` cannot be read.
pub fn end_strays(others: &[u32]) -> Result<usize> {
    let own = std::process::id();
    let mut ended = 0;
    loop {
        let strays: Vec<_> = children_of(own)?.into_iter().filter(|child| !others.contains(child)).collect();
        if strays.is_empty() {
            return Ok(ended);
        }
        for stray in strays {
            let stray = Pid::from_raw(stray as i32);
            let _ = kill(stray, Signal::SIGKILL);
            // Its own children become ours, and are found by the next look.
            let _ = waitpid(stray, None);
            ended += 1;
        }
    }
}

fn children_of(parent: u32) -> Result<Vec<u32>> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc").context("/proc")?.flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name is in parentheses, and can be anything; state and parent follow.
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        if after_name.split_whitespace().nth(1).and_then(|number| number.parse().ok()) == Some(parent) {
            children.push(process);
        }
    }
    Ok(children)
}
