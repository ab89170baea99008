//! An endpoint without sockets, in a process of its own: docs/reference/sans-io-endpoint.md.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, ErrorKind, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use quiclab_sim::transfer::stack::{Answer, Datagram, Stack};
use quiclab_units::Time;

use super::{
    answer::{self, AnswerError},
    disk::Watch,
    program::Program,
};
use crate::{
    child::{End, describe, reap},
    sandbox::{Sandbox, VisibleFiles},
};

/// How long a stack may take for an answer, and for its end.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of answers that are read at once: more than those of usual ones.
const READ_AT_ONCE: usize = 1 << 16;
/// How often waiting looks at the flag that ends it, in milliseconds.
const POLL_INTERVAL_MS: u16 = 50;
/// Bytes that the files of an endpoint may have beside those that are transferred.
const MOST_LOG_BYTES: u64 = 1 << 30;

/// What a process is started with.
pub(super) struct Start<'a> {
    /// The program.
    pub(super) program: &'a Program,
    /// All its variables.
    pub(super) environment: BTreeMap<String, String>,
    /// The folder it is started in.
    pub(super) folder: &'a Path,
    /// Where its standard error goes.
    pub(super) log: &'a Path,
    /// Bytes that are transferred.
    pub(super) transfer_bytes: u64,
    /// Files that are transferred.
    pub(super) transfer_files: u64,
    /// When the run must be over.
    pub(super) deadline: Instant,
    /// Ends everything.
    pub(super) stop: Arc<AtomicBool>,
}

/// An endpoint.
pub(super) struct Process {
    child: Child,
    /// `None` once it is told that this is the end.
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// What was read of its answers and not yet looked at.
    unread: Unread,
    stop: Arc<AtomicBool>,
    /// When the run must be over.
    deadline: Instant,
    disk: Watch,
    end: Option<End>,
    /// Orders that it answered.
    pub(super) orders: u64,
    /// Lengths of the buffers that it sent, and how often.
    pub(super) buffers: BTreeMap<usize, u64>,
}

/// Why an endpoint cannot go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProcessError {
    /// It ended by itself.
    #[error("{}", describe(*.0))]
    Ended(ExitStatus),
    /// It does not answer.
    #[error("it did not answer within {} s of real time", ANSWER_TIMEOUT.as_secs())]
    Hanging,
    /// It answers nonsense.
    #[error("its answer: {0}")]
    Answer(#[from] AnswerError),
    /// It fills the disk.
    #[error("its folder: {0}, expected no more; it was ended")]
    Disk(String),
    /// The run takes longer than the host waits.
    #[error("out of time")]
    OutOfTime,
    /// Somebody wants to stop.
    #[error("interrupted")]
    Interrupted,
    /// The kernel's answer.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl Process {
    pub(super) fn start(start: Start) -> Result<Self> {
        let [program, arguments @ ..] = &start.program.command[..] else { anyhow::bail!("a command without words") };
        let log = File::create(start.log).with_context(|| start.log.display().to_string())?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(start.environment)
            .current_dir(start.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            // Ctrl-C reaches quiclab, which then ends its endpoints in order.
            .process_group(0);
        // What it transfers is there at most twice: as it was given, and as it stored it.
        let most_bytes = start.transfer_bytes.saturating_mul(2).saturating_add(MOST_LOG_BYTES);
        let mut sandbox = Sandbox::create(&VisibleFiles {
            readable: start.program.files.iter().cloned().collect(),
            own: start.folder.to_owned(),
            file_bytes: start.transfer_bytes.saturating_add(MOST_LOG_BYTES),
            program: quiclab_sandbox::Program::WithoutSockets,
        })
        .context("the sandbox of an endpoint")?;
        let parent = std::process::id();
        // SAFETY: system calls alone, which are safe between fork and exec.
        unsafe {
            command.pre_exec(move || sandbox.enter(parent));
        }
        let mut child = command.spawn().with_context(|| program.display().to_string())?;
        let input = child.stdin.take().context("its standard input")?;
        let output = child.stdout.take().context("its standard output")?;
        let process = Self {
            child,
            input: Some(input),
            output,
            unread: Unread { bytes: vec![0; READ_AT_ONCE], begin: 0, end: 0 },
            stop: start.stop,
            deadline: start.deadline,
            disk: Watch::new(start.folder, start.transfer_files, most_bytes),
            end: None,
            orders: 0,
            buffers: BTreeMap::new(),
        };
        process.input.iter().try_for_each(|input| do_not_block(input.as_fd()))?;
        do_not_block(process.output.as_fd())?;
        Ok(process)
    }

    /// Lets it begin anew, as if it had just been started with another seed.
    ///
    /// # Errors
    /// As of [`Stack::handle`].
    pub(super) fn start_anew(&mut self) -> Result<(), ProcessError> {
        self.buffers.clear();
        self.handle(Time::from_nanos(u64::MAX), &[]).map(drop)
    }

    /// Tells it that this is the end, and waits for its own.
    ///
    /// # Errors
    /// Where it does not end in time, or somebody wants to stop.
    pub(super) fn finish(&mut self) -> Result<End, ProcessError> {
        self.input = None;
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        loop {
            if let Some(end) = self.end {
                return Ok(end);
            }
            self.end = reap(&self.child, libc::WNOHANG)?;
            if self.end.is_some() {
                if let Some(too_much) = self.disk.look_now()? {
                    return Err(ProcessError::Disk(too_much));
                }
            } else {
                self.check(deadline)?;
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Whether there is still time, and room on the disk.
    fn check(&mut self, deadline: Instant) -> Result<(), ProcessError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(ProcessError::Interrupted);
        }
        let now = Instant::now();
        if let Some(too_much) = self.disk.look(now)? {
            return Err(ProcessError::Disk(too_much));
        }
        if now >= self.deadline {
            Err(ProcessError::OutOfTime)
        } else if now >= deadline {
            Err(ProcessError::Hanging)
        } else {
            Ok(())
        }
    }

    /// Its pipe is closed: why it ended.
    fn ended(&mut self) -> ProcessError {
        match self.finish() {
            Ok(end) => ProcessError::Ended(end.status),
            Err(error) => error,
        }
    }

    fn write(&mut self, mut bytes: &[u8], deadline: Instant) -> Result<(), ProcessError> {
        while !bytes.is_empty() {
            let Some(input) = &mut self.input else { return Err(self.ended()) };
            match input.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    wait(input.as_fd(), PollFlags::POLLOUT)?;
                    self.check(deadline)?;
                }
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Err(self.ended()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Fills `bytes` with what comes next of its answers.
    fn read(&mut self, bytes: &mut [u8], deadline: Instant) -> Result<(), ProcessError> {
        let mut filled = self.unread.take(bytes);
        while filled < bytes.len() {
            // Most often there is nothing yet, and asking costs less than trying.
            wait(self.output.as_fd(), PollFlags::POLLIN)?;
            // What is longer than usual goes where it is wanted.
            let left = &mut bytes[filled..];
            let is_long = left.len() >= READ_AT_ONCE;
            let room = if is_long { left } else { &mut self.unread.bytes[..] };
            match self.output.read(room) {
                Ok(0) => return Err(self.ended()),
                Ok(count) if is_long => filled += count,
                Ok(count) => {
                    (self.unread.begin, self.unread.end) = (0, count);
                    filled += self.unread.take(&mut bytes[filled..]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.check(deadline)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Bytes that were read too early.
struct Unread {
    bytes: Vec<u8>,
    begin: usize,
    end: usize,
}

impl Unread {
    /// Moves as many as there are, and says how many.
    fn take(&mut self, to: &mut [u8]) -> usize {
        let count = to.len().min(self.end - self.begin);
        to[..count].copy_from_slice(&self.bytes[self.begin..self.begin + count]);
        self.begin += count;
        count
    }
}

impl Stack for Process {
    type Error = ProcessError;

    fn handle(&mut self, now: Time, arrived: &[Datagram]) -> Result<Answer, ProcessError> {
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        self.check(deadline)?;
        self.write(&answer::order(now, arrived)?, deadline)?;
        let mut length = [0; 4];
        self.read(&mut length, deadline)?;
        let mut bytes = vec![0; answer::length(length)?];
        self.read(&mut bytes, deadline)?;
        let answer = answer::answer(&bytes)?;
        self.orders += 1;
        for buffer in &answer.buffers {
            *self.buffers.entry(buffer.payload.len()).or_default() += 1;
        }
        Ok(answer)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.end.is_none() {
            // The group is that of our child, which is not yet reaped.
            let _ = killpg(Pid::from_raw(self.child.id() as i32), Signal::SIGKILL);
            let _ = reap(&self.child, 0);
        }
    }
}

fn do_not_block(descriptor: BorrowedFd) -> io::Result<()> {
    fcntl(descriptor, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok(())
}

/// Waits until there is something to read or room to write, or a moment has passed.
fn wait(descriptor: BorrowedFd, flags: PollFlags) -> io::Result<()> {
    match poll(&mut [PollFd::new(descriptor, flags)], PollTimeout::from(POLL_INTERVAL_MS)) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that answers every order with these bytes, and reads on.
    fn process(script: &str) -> (tempfile::TempDir, Process) {
        let folder = tempfile::tempdir().unwrap();
        let program =
            Program { command: ["/bin/sh", "-c", script].map(Into::into).into(), files: None, digest: String::new() };
        let log = folder.path().join("stderr");
        let process = Process::start(Start {
            program: &program,
            environment: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            folder: folder.path(),
            log: &log,
            transfer_bytes: 0,
            transfer_files: 0,
            deadline: Instant::now() + Duration::from_secs(60),
            stop: Arc::default(),
        });
        (folder, process.unwrap())
    }

    fn handle(process: &mut Process) -> Result<Answer, ProcessError> {
        process.handle(Time::from_nanos(0), &[])
    }

    #[test]
    fn a_program_that_ends_says_with_what() {
        let (_folder, mut process) = process("exit 127");
        let error = handle(&mut process).unwrap_err();
        assert!(matches!(error, ProcessError::Ended(status) if status.code() == Some(127)), "{error}");
    }

    #[test]
    fn an_answer_that_is_too_long_is_not_waited_for() {
        let (_folder, mut process) = process(r"printf '\377\377\377\377'; exec cat > /dev/null");
        assert!(handle(&mut process).unwrap_err().to_string().contains("4294967295 bytes, expected at most 16777216"));
        assert!(process.finish().unwrap().status.success());
    }

    #[test]
    fn a_program_that_does_not_answer_ends_when_it_is_told() {
        let (_folder, mut process) = process("exec sleep 1000");
        process.stop.store(true, Ordering::Relaxed);
        assert!(matches!(handle(&mut process), Err(ProcessError::Interrupted)));
        let id = process.child.id();
        drop(process);
        assert!(!Path::new(&format!("/proc/{id}")).exists());
    }
}
