//! A running QEMU and its monitor (QMP) on standard input and output.
//!
//! By hand, because the `qapi` crate waits for an answer for as long as it takes: here each wait ends at a deadline, when the
//! user interrupts, and when QEMU dies. What would be left to the library is a handful of commands, each a line of JSON.

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;
use quiclab_supplies::process::end_with_parent;
use serde_json::{Value, json};

use super::{
    machine::{QEMU, QEMU_PACKAGE},
    priority,
    watch::{Lifeless, TIMEOUTS, Timeouts, Watch},
};
use crate::{
    cache::Verifying,
    child::{End, describe, reap},
    cores::{Seat, bind_to, cores},
    perform::Interrupted,
};

/// How often waiting looks at the flag that ends it.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Most bytes that are read of what QEMU printed when it has ended.
const MOST_WORDS: u64 = 1 << 20;

/// A QEMU process. It is killed when this is dropped, and when this process dies in any way.
pub struct Qemu {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    stop: Arc<AtomicBool>,
    timeout: Duration,
    deadline: Instant,
    /// How it ended; waited for once.
    end: Option<End>,
    /// Its core, until it is dropped.
    _seat: Seat,
}

impl Qemu {
    /// Starts `command` on this core, or on another one where a QEMU of quiclab has that. Everything that waits on it ends
    /// when `stop` is set or `timeout` is over.
    ///
    /// # Errors
    /// Where QEMU is missing or does not speak QMP.
    pub fn start(
        mut command: Command,
        preferred_core: usize,
        stop: Arc<AtomicBool>,
        timeout: Duration,
    ) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: Ctrl-C reaches quiclab, which then ends QEMU in order.
        command.process_group(0);
        let parent = std::process::id();
        let seat = Seat::take(preferred_core, &cores()?);
        let core = seat.core;
        // SAFETY: system calls alone, which are safe between fork and exec.
        unsafe {
            command.pre_exec(move || {
                end_with_parent(parent, Signal::SIGKILL)?;
                bind_to(core)
            });
        }
        let mut child = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                anyhow::anyhow!("{QEMU}: not found on this machine\nhint: apt-get install {QEMU_PACKAGE}")
            }
            _ => anyhow::Error::new(error).context(QEMU),
        })?;
        let input = child.stdin.take().context("QEMU's standard input")?;
        let output = child.stdout.take().context("QEMU's standard output")?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let deadline = Instant::now() + timeout;
        let mut qemu = Self { child, input, lines, stop, timeout, deadline, end: None, _seat: seat };
        qemu.wait_for("its greeting", |message| message.get("QMP").is_some())?;
        qemu.execute("qmp_capabilities", json!({}))?;
        let cpus = qemu.execute("query-cpus-fast", json!({}))?;
        let cpu = cpus[0]["thread-id"].as_i64().with_context(|| format!("QEMU's CPUs: {cpus}"))?;
        priority::put_first(qemu.child.id() as i32, cpu as i32)?;
        Ok(qemu)
    }

    /// Executes a command of the monitor and returns what it answers.
    ///
    /// # Errors
    /// What QEMU says, or why it says nothing.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Result<Value> {
        let request = json!({ "execute": command, "arguments": arguments });
        writeln!(self.input, "{request}")
            .with_context(|| format!("QEMU does not accept {command}: {}", self.last_words()))?;
        let answer =
            self.wait_for(command, |message| message.get("return").is_some() || message.get("error").is_some())?;
        if let Some(error) = answer.get("error") {
            bail!("QEMU refuses {command}: {error}");
        }
        Ok(answer["return"].clone())
    }

    /// Waits for an event.
    ///
    /// # Errors
    /// Where QEMU ends first, or on [`Interrupted`].
    pub fn wait_for_event(&mut self, name: &str) -> Result<()> {
        self.wait_for(name, |message| message["event"] == name).map(drop)
    }

    /// Waits until a migration is through, either way.
    ///
    /// # Errors
    /// Where it fails.
    pub fn wait_for_migration(&mut self) -> Result<()> {
        loop {
            let answer = self.execute("query-migrate", json!({}))?;
            match answer["status"].as_str() {
                Some("completed") => return Ok(()),
                Some("failed" | "cancelled") => bail!("QEMU's migration: {answer}"),
                _ => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Waits until QEMU ends by itself, or its guest has stopped for ever. Ends it early where what it is made of turns out to be damaged.
    ///
    /// # Errors
    /// On [`Interrupted`], and on damage.
    pub fn watch(self, verifying: &Verifying) -> Result<Ended> {
        self.watch_with(verifying, TIMEOUTS)
    }

    fn watch_with(mut self, verifying: &Verifying, timeouts: Timeouts) -> Result<Ended> {
        let mut watch = Watch::new(self.child.id(), timeouts)?;
        let mut why = None;
        loop {
            match self.lines.recv_timeout(POLL_INTERVAL) {
                Err(RecvTimeoutError::Disconnected) => return Ok(Ended { end: self.reap()?, why }),
                Ok(line) => why = why_of(&line).or(why),
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.check()?;
            verifying.so_far()?;
            let lifeless = watch.look()?.map(Why::Lifeless);
            if let Some(why) = lifeless.or(why).filter(Why::is_final) {
                self.child.kill()?;
                return Ok(Ended { end: self.reap()?, why: Some(why) });
            }
        }
    }

    /// Ends QEMU.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn quit(mut self) -> Result<End> {
        let _ = self.execute("quit", json!({}));
        Ok(self.reap()?)
    }

    fn wait_for(&mut self, what: &str, mut is_it: impl FnMut(&Value) -> bool) -> Result<Value> {
        loop {
            match self.lines.recv_timeout(POLL_INTERVAL) {
                Ok(line) => {
                    let message: Value = serde_json::from_str(&line).with_context(|| format!("QEMU said {line:?}"))?;
                    if is_it(&message) {
                        return Ok(message);
                    }
                    self.check()?;
                }
                Err(RecvTimeoutError::Timeout) => self.check()?,
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("QEMU ended while waiting for {what}: {}", self.last_words())
                }
            }
        }
    }

    fn check(&self) -> Result<(), Interrupted> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Interrupted::ByRequest);
        }
        if Instant::now() >= self.deadline {
            return Err(Interrupted::ByDeadline(self.timeout));
        }
        Ok(())
    }

    /// Exit status and what it printed on standard error.
    fn last_words(&mut self) -> String {
        let ended = self.reap().map_or_else(|error| error.to_string(), |end| describe(end.status));
        let mut text = String::new();
        if let Some(errors) = self.child.stderr.take() {
            let _ = BufReader::new(errors).take(MOST_WORDS).read_to_string(&mut text);
        }
        format!("{ended}; {}", crate::command::tail(&text))
    }

    fn reap(&mut self) -> std::io::Result<End> {
        if let Some(end) = self.end {
            return Ok(end);
        }
        let end = reap(&self.child, 0)?.ok_or(std::io::ErrorKind::WouldBlock)?;
        self.end = Some(end);
        Ok(end)
    }
}

/// How a run of QEMU ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its status, and what it used.
    pub end: End,
    /// Why, as far as QEMU said so or this program ended it.
    pub why: Option<Why>,
}

/// Why a guest ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It restarted; its kernel does so after a panic too.
    Rebooted,
    /// It switched itself off.
    SwitchedOff,
    /// It stopped the machine and would not go on: the device that does it is for the agent before a state is saved.
    Stopped,
    /// It showed no sign of life.
    Lifeless(Lifeless),
}

impl Why {
    /// True where QEMU does not end by itself.
    fn is_final(&self) -> bool {
        matches!(self, Self::Stopped | Self::Lifeless(_))
    }
}

/// Why a guest ended, where this line of the monitor says so.
fn why_of(line: &str) -> Option<Why> {
    let message: Value = serde_json::from_str(line).ok()?;
    match (message["event"].as_str()?, message["data"]["reason"].as_str()) {
        ("SHUTDOWN", Some("guest-reset")) => Some(Why::Rebooted),
        ("SHUTDOWN", Some("guest-shutdown")) => Some(Why::SwitchedOff),
        ("GUEST_PANICKED", _) => Some(Why::Stopped),
        _ => None,
    }
}

impl Ended {
    /// How the guest ended, for people. `state` is the name of its saved state in the cache.
    pub fn in_words(&self, state: &str) -> String {
        match self.why {
            Some(Why::Rebooted) => {
                "the guest rebooted before the agent had handed over the results: a program in it asked for that, or its \
                 kernel panicked"
                    .to_owned()
            }
            Some(Why::SwitchedOff) => {
                "the guest switched itself off before the agent had handed over the results".to_owned()
            }
            Some(Why::Stopped) => "the guest stopped its own machine, as after a panic of its kernel".to_owned(),
            Some(Why::Lifeless(lifeless)) => format!(
                "{lifeless}, so it was ended\nhint: quiclab doctor --cache looks for damage; quiclab cache remove \
                 {state} removes its saved state, which is then made again\n"
            ),
            None => format!("QEMU {}", describe(self.end.status)),
        }
    }
}

impl Drop for Qemu {
    fn drop(&mut self) {
        if self.end.is_none() {
            let _ = self.child.kill();
            let _ = self.reap();
        }
    }
}

#[cfg(test)]
mod tests;
