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
    sys::{
        resource::{Resource, setrlimit},
        signal::{Signal, killpg},
    },
    unistd::Pid,
};
use quiclab_sim::transfer::stack::{Answer, Buffer, Datagram, Stack};
use quiclab_units::Time;

use super::program::Program;
use crate::child::{End, describe, end_with_parent, reap};

/// How long a stack may take for an answer, and for its end.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);
/// How often waiting looks at the flag that ends it, in milliseconds.
const GLANCE_MS: u16 = 50;
/// The longest answer.
const MOST_ANSWER_BYTES: usize = 16 << 20;
/// The longest payload of a UDP datagram over IPv4, and the longest buffer.
const MOST_BUFFER_BYTES: usize = 65_507;
/// Address space of an endpoint.
const MOST_MEMORY: u64 = 4 << 30;
/// Bytes that a file of an endpoint may have beside those that are transferred.
const MOST_LOG_BYTES: u64 = 1 << 30;
/// What stands for no time.
const NEVER: u64 = u64::MAX;

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
    /// Ends everything.
    pub(super) stop: Arc<AtomicBool>,
}

/// An endpoint.
pub(super) struct Process {
    child: Child,
    /// `None` once it is told that this is the end.
    input: Option<ChildStdin>,
    output: ChildStdout,
    stop: Arc<AtomicBool>,
    end: Option<End>,
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
    #[error("it did not answer within {} s of real time", ANSWER_PATIENCE.as_secs())]
    Hanging,
    /// It answers nonsense.
    #[error("its answer: {0}")]
    Answer(String),
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
        let most_file = start.transfer_bytes.saturating_add(MOST_LOG_BYTES);
        let parent = std::process::id();
        // SAFETY: system calls alone, which are safe between fork and exec.
        unsafe {
            command.pre_exec(move || {
                for (resource, limit) in [
                    (Resource::RLIMIT_AS, MOST_MEMORY),
                    (Resource::RLIMIT_FSIZE, most_file),
                    (Resource::RLIMIT_CORE, 0),
                ] {
                    setrlimit(resource, limit, limit)?;
                }
                end_with_parent(parent, Signal::SIGKILL)
            });
        }
        let mut child = command.spawn().with_context(|| program.display().to_string())?;
        let input = child.stdin.take().context("its standard input")?;
        let output = child.stdout.take().context("its standard output")?;
        let process = Self { child, input: Some(input), output, stop: start.stop, end: None, buffers: BTreeMap::new() };
        process.input.iter().try_for_each(|input| do_not_block(input.as_fd()))?;
        do_not_block(process.output.as_fd())?;
        Ok(process)
    }

    /// Tells it that this is the end, and waits for its own.
    ///
    /// # Errors
    /// Where it does not end in time, or somebody wants to stop.
    pub(super) fn finish(&mut self) -> Result<End, ProcessError> {
        self.input = None;
        let deadline = Instant::now() + ANSWER_PATIENCE;
        loop {
            if let Some(end) = self.end {
                return Ok(end);
            }
            self.end = reap(&self.child, libc::WNOHANG)?;
            if self.end.is_none() {
                self.check(deadline)?;
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn check(&self, deadline: Instant) -> Result<(), ProcessError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(ProcessError::Interrupted);
        }
        if Instant::now() >= deadline { Err(ProcessError::Hanging) } else { Ok(()) }
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

    fn read(&mut self, bytes: &mut [u8], deadline: Instant) -> Result<(), ProcessError> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.output.read(&mut bytes[filled..]) {
                Ok(0) => return Err(self.ended()),
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    wait(self.output.as_fd(), PollFlags::POLLIN)?;
                    self.check(deadline)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Stack for Process {
    type Error = ProcessError;

    fn handle(&mut self, now: Time, arrived: &[Datagram]) -> Result<Answer, ProcessError> {
        let deadline = Instant::now() + ANSWER_PATIENCE;
        self.write(&order(now, arrived)?, deadline)?;
        let mut length = [0; 4];
        self.read(&mut length, deadline)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MOST_ANSWER_BYTES {
            let message = format!("found a length of {length} bytes, expected at most {MOST_ANSWER_BYTES}");
            return Err(ProcessError::Answer(message));
        }
        let mut bytes = vec![0; length];
        self.read(&mut bytes, deadline)?;
        let answer = answer(&bytes)?;
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

/// Until there is something to read or room to write, or a moment has passed.
fn wait(descriptor: BorrowedFd, flags: PollFlags) -> io::Result<()> {
    match poll(&mut [PollFd::new(descriptor, flags)], PollTimeout::from(GLANCE_MS)) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn order(now: Time, arrived: &[Datagram]) -> Result<Vec<u8>, ProcessError> {
    let count = u16::try_from(arrived.len()).map_err(|_| {
        ProcessError::Answer(format!("it has {} datagrams waiting, expected at most 65535", arrived.len()))
    })?;
    let mut bytes = vec![0; 4];
    bytes.extend(now.as_nanos().to_le_bytes());
    bytes.extend(count.to_le_bytes());
    for datagram in arrived {
        bytes.push(datagram.ecn);
        bytes.extend((datagram.payload.len() as u32).to_le_bytes());
        bytes.extend(&datagram.payload);
    }
    let length = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

/// An answer without its length.
fn answer(bytes: &[u8]) -> Result<Answer, ProcessError> {
    let mut parts = Parts(bytes);
    let is_done = match parts.number::<1>()? {
        0 => false,
        1 => true,
        other => return Err(ProcessError::Answer(format!("found state {other}, expected 0 or 1"))),
    };
    let next = parts.time()?;
    let count = parts.number::<2>()?;
    let mut buffers = Vec::new();
    for number in 1..=count {
        let ecn = parts.number::<1>()? as u8;
        let segment = parts.number::<2>()? as usize;
        let planned = parts.time()?;
        let length = parts.number::<4>()? as usize;
        let payload = parts.take(length)?.to_vec();
        if ecn > 3 || segment == 0 || payload.is_empty() || payload.len() > MOST_BUFFER_BYTES {
            return Err(ProcessError::Answer(format!(
                "buffer {number}: found ECN {ecn}, datagrams of {segment} bytes and {length} bytes, expected ECN up to 3, a length from 1 and 1 to \
                 {MOST_BUFFER_BYTES} bytes"
            )));
        }
        buffers.push(Buffer { ecn, segment, planned, payload });
    }
    if !parts.0.is_empty() {
        return Err(ProcessError::Answer(format!(
            "found {} bytes after its last buffer, expected none",
            parts.0.len()
        )));
    }
    Ok(Answer { is_done, next, buffers })
}

/// What is left of an answer.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], ProcessError> {
        let Some((part, rest)) = self.0.split_at_checked(count) else {
            let message = format!("found {} bytes where {count} are expected", self.0.len());
            return Err(ProcessError::Answer(message));
        };
        self.0 = rest;
        Ok(part)
    }

    /// A little-endian number of so many bytes, at most 8.
    fn number<const BYTES: usize>(&mut self) -> Result<u64, ProcessError> {
        Ok(self.take(BYTES)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn time(&mut self) -> Result<Option<Time>, ProcessError> {
        let nanos = self.number::<8>()?;
        Ok((nanos != NEVER).then_some(Time::from_nanos(nanos)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that answers every order with these bytes, and reads on.
    fn process(script: &str) -> (tempfile::TempDir, Process) {
        let folder = tempfile::tempdir().unwrap();
        let program = Program { command: ["/bin/sh", "-c", script].map(Into::into).into(), digest: String::new() };
        let log = folder.path().join("stderr");
        let process = Process::start(Start {
            program: &program,
            environment: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            folder: folder.path(),
            log: &log,
            transfer_bytes: 0,
            stop: Arc::default(),
        });
        (folder, process.unwrap())
    }

    fn handle(process: &mut Process) -> Result<Answer, ProcessError> {
        process.handle(Time::from_nanos(0), &[])
    }

    #[test]
    fn an_answer_is_read_as_the_reference_has_it() {
        let mut bytes = vec![1];
        bytes.extend(77u64.to_le_bytes());
        bytes.extend(1u16.to_le_bytes());
        bytes.push(2);
        bytes.extend(3u16.to_le_bytes());
        bytes.extend(NEVER.to_le_bytes());
        bytes.extend(4u32.to_le_bytes());
        bytes.extend(b"abcd");
        let read = answer(&bytes).unwrap();
        let buffer = Buffer { ecn: 2, segment: 3, planned: None, payload: b"abcd".to_vec() };
        assert_eq!(read, Answer { is_done: true, next: Some(Time::from_nanos(77)), buffers: vec![buffer.clone()] });
        assert_eq!(buffer.datagrams().map(|datagram| datagram.payload.len()).collect::<Vec<_>>(), [3, 1]);
        for cut in 0..bytes.len() {
            assert!(matches!(answer(&bytes[..cut]), Err(ProcessError::Answer(_))), "{cut}");
        }
        bytes.push(0);
        assert!(answer(&bytes).unwrap_err().to_string().contains("1 bytes after its last buffer"));
    }

    #[test]
    fn a_program_that_ends_says_with_what() {
        let (_folder, mut process) = process("exit 127");
        let error = handle(&mut process).unwrap_err();
        assert!(matches!(error, ProcessError::Ended(status) if status.code() == Some(127)), "{error}");
    }

    #[test]
    fn an_answer_that_is_too_long_is_not_waited_for() {
        let (_folder, mut process) = process(r"printf '\377\377\377\377'; cat > /dev/null");
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
