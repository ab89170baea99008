//! The agent's life `serve`, for one run: orders in, results out. It ends with this thread, and everything in its namespaces with it.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    os::{fd::AsFd, unix::process::CommandExt},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    sync::atomic::Ordering,
    time::Instant,
};

use anyhow::{Context, Result, anyhow};
use nix::{
    fcntl::{FcntlArg, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::Signal,
};
use quiclab_agent_protocol::{
    orders::Orders,
    results::check,
    slot::{BLOCK, MANIFEST_ROOM, Manifest, RESULTS_MAGIC, header},
};
use quiclab_supplies::process::end_with_parent;

use crate::{
    child::{describe, reap},
    collect::excerpt,
    perform::{Host, HostUse, Interrupted},
};

/// How often waiting looks whether it is to stop, in milliseconds.
const POLL_INTERVAL_MS: u8 = 50;
/// Room in the pipe of answers. An ordinary user may have as much.
const PIPE_BYTES: i32 = 1 << 20;
/// What the agent prints beside its answer, in the folder of a run.
const SAID: &str = "agent";

/// What came of orders.
pub(super) enum Answer {
    /// The results are in the slot.
    Results(HostUse),
    /// The agent broke down, for this reason.
    Broken(String, HostUse),
}

/// Has the agent perform `orders`, and puts its answer into the file `slot`, as a virtual machine would leave it there.
///
/// # Errors
/// Where the agent cannot be started, the disk cannot be written, or an interruption.
pub(super) fn ask(agent: &Path, orders: &Orders, work: &Path, slot: &Path, host: &Host) -> Result<Answer> {
    let said = work.join(SAID);
    let mut servant = Servant::start(agent, &said)?;
    let answered = servant.tell(orders).and_then(|output| {
        let deadline = Instant::now() + host.timeout;
        let mut output = BufReader::with_capacity(1 << 18, Watched { output, host, deadline });
        receive(&mut output, orders, slot).map_err(|error| match interruption(host, deadline) {
            Some(interrupted) => Failure::Here(interrupted.into()),
            None => error,
        })
    });
    match answered {
        Ok(()) => Ok(Answer::Results(servant.end()?)),
        Err(Failure::Here(error)) => Err(error),
        Err(Failure::There(why)) => {
            let (status, host_use) = servant.kill()?;
            Ok(Answer::Broken(format!("{why} ({status}); it says: {}", excerpt(&said, 4000)), host_use))
        }
    }
}

/// What went wrong.
enum Failure {
    /// Something went wrong on this side.
    Here(anyhow::Error),
    /// Something went wrong with the agent.
    There(String),
}

struct Servant {
    child: Child,
    has_ended: bool,
}

impl Servant {
    fn start(agent: &Path, said: &Path) -> Result<Self> {
        let parent = std::process::id();
        let mut command = Command::new(agent);
        command
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(said).with_context(|| said.display().to_string())?);
        // SAFETY: system calls alone, which are safe between fork and exec.
        unsafe { command.pre_exec(move || end_with_parent(parent, Signal::SIGKILL)) };
        let child = command.spawn().with_context(|| agent.display().to_string())?;
        if let Some(output) = &child.stdout {
            // With a small one the agent and this process take turns many times.
            let _ = fcntl(output, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES));
        }
        Ok(Self { child, has_ended: false })
    }

    /// Sends the orders, and ends the input.
    fn tell(&mut self, orders: &Orders) -> Result<ChildStdout, Failure> {
        let mut line = serde_json::to_vec(orders).map_err(|error| Failure::Here(error.into()))?;
        line.push(b'\n');
        let input = self.child.stdin.take().ok_or_else(|| Failure::Here(anyhow!("the agent's input was taken before")));
        input?.write_all(&line).map_err(|error| Failure::There(format!("it did not read its orders: {error}")))?;
        self.child.stdout.take().ok_or_else(|| Failure::Here(anyhow!("the agent's output was taken before")))
    }

    /// Waits for its end, which is near.
    fn end(mut self) -> Result<HostUse> {
        Ok(self.reap()?.1)
    }

    /// Ends it.
    fn kill(mut self) -> Result<(String, HostUse)> {
        let _ = self.child.kill();
        self.reap()
    }

    fn reap(&mut self) -> Result<(String, HostUse)> {
        let end = reap(&self.child, 0).context("waiting for the agent")?.context("the agent has not ended")?;
        self.has_ended = true;
        Ok((describe(end.status), end.host_use))
    }
}

impl Drop for Servant {
    fn drop(&mut self) {
        if !self.has_ended {
            let _ = self.child.kill();
            let _ = self.reap();
        }
    }
}

/// Why waiting is to end, if it is.
fn interruption(host: &Host, deadline: Instant) -> Option<Interrupted> {
    if host.stop.load(Ordering::Relaxed) {
        return Some(Interrupted::ByRequest);
    }
    (Instant::now() > deadline).then_some(Interrupted::ByDeadline(host.timeout))
}

/// The agent's output, until waiting is to end.
struct Watched<'a> {
    output: ChildStdout,
    host: &'a Host,
    deadline: Instant,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(interrupted) = interruption(self.host, self.deadline) {
                return Err(io::Error::other(interrupted));
            }
            let mut watched = [PollFd::new(self.output.as_fd(), PollFlags::POLLIN)];
            match poll(&mut watched, PollTimeout::from(POLL_INTERVAL_MS)) {
                Ok(0) | Err(nix::errno::Errno::EINTR) => {}
                Ok(_) => return self.output.read(buffer),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Reads an answer, and writes it in the layout of a slot: there blobs start on blocks, behind the manifest.
fn receive(output: &mut impl BufRead, orders: &Orders, slot: &Path) -> Result<(), Failure> {
    let there = |what: String| Failure::There(what);
    let mut line = Vec::new();
    let room = MANIFEST_ROOM - BLOCK as u64;
    let read = output.take(room).read_until(b'\n', &mut line);
    read.map_err(|error| there(format!("its answer cannot be read: {error}")))?;
    if line.is_empty() {
        return Err(there("it ended without an answer".to_owned()));
    }
    let mut manifest: Manifest =
        serde_json::from_slice(&line).map_err(|error| there(format!("its answer cannot be read: {error}")))?;
    let mut from = Vec::new();
    let mut end = MANIFEST_ROOM;
    for blob in &mut manifest.blobs {
        from.push((blob.offset, blob.length));
        blob.offset = end;
        end = end.saturating_add(blob.length).saturating_add(BLOCK as u64 - 1) / BLOCK as u64 * BLOCK as u64;
    }
    check(&manifest, end, orders).map_err(|error| there(format!("its answer is not that of this run: {error}")))?;
    let json = serde_json::to_vec(&manifest).map_err(|error| Failure::Here(error.into()))?;
    let here = |error: io::Error| Failure::Here(anyhow::Error::from(error).context(slot.display().to_string()));
    let mut file = File::create(slot).map_err(here)?;
    file.set_len(end).map_err(here)?;
    let mut position = 0;
    for (blob, (offset, length)) in manifest.blobs.iter().zip(from) {
        if offset != position {
            return Err(there(format!("{}: found offset {offset}, expected {position}", blob.name)));
        }
        position += length;
        file.seek(SeekFrom::Start(blob.offset)).map_err(here)?;
        let copied = io::copy(&mut output.take(length), &mut file).map_err(here)?;
        if copied != length {
            return Err(there(format!("{}: found {copied} bytes, expected {length}", blob.name)));
        }
    }
    file.seek(SeekFrom::Start(0)).map_err(here)?;
    let first = header(RESULTS_MAGIC, json.len() as u64);
    file.write_all(&first).and_then(|()| file.write_all(&json)).map_err(here)
}

#[cfg(test)]
mod tests;
