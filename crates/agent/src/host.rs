//! The life on a host of several, over ssh: [`Request`]s as lines of JSON on standard input, [`Answer`]s on standard output.
//!
//! One process serves one quiclab, from its first word to the end of its session, and holds the host's [`lock`] as long. Each run is
//! performed by a process of its own, [`part`], which is process 1 of new namespaces; all that it makes ends with it: processes,
//! mounts, the namespaces of the endpoints, and the interfaces in them ([`links`]). Nothing else of the host is changed, so there is nothing
//! to restore. The run's process ends with this one, and this one ends when standard input ends, when nobody reads standard output any
//! more, and when quiclab has been silent for [`LONGEST_SILENCE_SECONDS`].

mod cards;
mod clocks;
mod facts;
mod hardware;
mod links;
mod lock;
mod options;
mod part;
mod restore_qdiscs;
mod sniffer;
mod stamps;
mod store;
mod timekeeping;

use std::{
    fs::File,
    io::{self, PipeWriter, Read, Write},
    os::fd::{AsFd, BorrowedFd},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
    },
};
use quiclab_agent_protocol::hosts::{Answer, LONGEST_SILENCE_SECONDS, Part, PlaceOfHost, Request};

use self::{hardware::HardwareStamps, lock::Lock, options::Options, store::Store};
use crate::{
    jail::{End, Jail},
    serve::limits,
};

/// The namespaces of a run's process. It stays in the host's network, whose interfaces its own are made from.
const OWN: libc::c_int = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
/// Bytes of the longest request; longer ones are refused. Certificates are most of them.
const LONGEST_REQUEST: usize = 16 << 20;
const SILENCE: Duration = Duration::from_secs(LONGEST_SILENCE_SECONDS);

/// Serves one quiclab.
///
/// # Errors
/// Where standard input or output fails, a signal asks to end, or quiclab has fallen silent.
pub fn main(words: &[String]) -> Result<()> {
    let options = Options::read(words)?;
    let mut signals = SigSet::empty();
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().for_each(|signal| signals.add(signal));
    signals.thread_block().context("blocking signals")?;
    let asked_to_end = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC).context("signalfd")?;
    let _lock = match Lock::take()? {
        Ok(lock) => lock,
        Err(by) => return say(&Answer::Locked { by }),
    };
    limits::set()?;
    let store = Store::new(&options)?;
    say(&Answer::Hello(Box::new(facts::find(&options)?)))?;
    let ended = Session::new(asked_to_end.as_fd(), &store).serve();
    store.close();
    ended
}

/// Writes an answer.
///
/// # Errors
/// Where nobody reads it.
fn say(answer: &Answer) -> Result<()> {
    write_line(answer, &mut io::stdout())
}

fn write_line(answer: &Answer, output: &mut impl Write) -> Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    output.write_all(&line).and_then(|()| output.flush()).context("standard output")
}

struct Session<'a> {
    asked_to_end: BorrowedFd<'a>,
    store: &'a Store,
    /// What was read and is no whole line yet.
    bytes: Vec<u8>,
    heard: Instant,
    run: Option<Run>,
}

/// The process of a run.
struct Run {
    jail: Jail,
    requests: PipeWriter,
    /// The card that stamps for the run. It is held here and not in the run's process, which may be killed.
    _stamps: Option<HardwareStamps>,
}

/// What came of waiting.
enum Woken {
    /// There is more to read.
    Input,
    /// Standard input has ended.
    End,
    /// The run's process has ended.
    Run,
}

impl<'a> Session<'a> {
    fn new(asked_to_end: BorrowedFd<'a>, store: &'a Store) -> Self {
        Self { asked_to_end, store, bytes: Vec::new(), heard: Instant::now(), run: None }
    }

    fn serve(mut self) -> Result<()> {
        loop {
            while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.bytes.drain(..=end).collect();
                line.pop();
                // An empty one says that quiclab is still there.
                if !line.is_empty() {
                    self.handle(&line)?;
                }
            }
            ensure!(self.bytes.len() <= LONGEST_REQUEST, "found a request of more than {LONGEST_REQUEST} bytes");
            match self.wait()? {
                Woken::Input => {}
                Woken::End => return Ok(()),
                Woken::Run => self.end_run()?,
            }
        }
    }

    fn handle(&mut self, line: &[u8]) -> Result<()> {
        match serde_json::from_slice(line).context("a request of quiclab")? {
            Request::Clock => say(&Answer::Clock { time_ns: clocks::now()? }),
            Request::Missing { names } => say(&Answer::Missing { names: self.store.missing(names) }),
            Request::Store { name, bytes } => {
                let mut archive = Archive { session: self, left: bytes };
                let stored = archive.store(&name);
                // The line after the archive is a request again.
                io::copy(&mut archive, &mut io::sink()).context("an archive")?;
                say(&stored.map_or_else(|error| failed(&error), |()| Answer::Done))
            }
            Request::Begin(part) => self.begin(*part),
            Request::Abort => {
                // Dropping it ends everything in it.
                self.run = None;
                say(&Answer::Aborted)
            }
            // A run that has failed has said so already.
            _ => match &mut self.run {
                None => Ok(()),
                Some(run) => {
                    let written = run.requests.write_all(&[line, b"\n"].concat());
                    match written {
                        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                        written => written.context("the run's process"),
                    }
                }
            },
        }
    }

    fn begin(&mut self, part: Part) -> Result<()> {
        if let Some(before) = self.run.take() {
            // It has handed over its results, and is ending.
            before.jail.wait()?;
        }
        let agent = std::process::id();
        let stamps = match &part.place {
            PlaceOfHost::Sniffer { interface } => HardwareStamps::start(interface),
            _ => None,
        };
        let (requests, writer) = io::pipe().context("pipe")?;
        let started = Jail::start(OWN, None, || match part::perform(&part, agent, requests.as_fd()) {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("quiclab-agent: {error:#}");
                1
            }
        });
        match started {
            Ok(jail) => self.run = Some(Run { jail, requests: writer, _stamps: stamps }),
            Err(error) => say(&failed(&error))?,
        }
        Ok(())
    }

    fn end_run(&mut self) -> Result<()> {
        let Some(run) = self.run.take() else { return Ok(()) };
        match run.jail.wait()? {
            End::Exit(0) => Ok(()),
            end => say(&Answer::Failed { error: format!("the run's process ended with {end}") }),
        }
    }

    /// Waits for input, which it reads, or for the end of the run.
    fn wait(&mut self) -> Result<Woken> {
        let (stdin, stdout) = (io::stdin(), io::stdout());
        let left = SILENCE.saturating_sub(self.heard.elapsed());
        let mut watched = vec![
            PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.asked_to_end, PollFlags::POLLIN),
            // Reported without being asked for: nobody reads any more.
            PollFd::new(stdout.as_fd(), PollFlags::empty()),
        ];
        watched.extend(self.run.as_ref().map(|run| PollFd::new(run.jail.watch(), PollFlags::POLLIN)));
        match poll(&mut watched, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
            Err(Errno::EINTR) => return Ok(Woken::Input),
            Ok(0) => bail!("heard nothing of quiclab for {LONGEST_SILENCE_SECONDS} s"),
            result => result.context("waiting for quiclab")?,
        };
        let is_set = |place: usize| watched.get(place).is_some_and(|one: &PollFd| one.any().unwrap_or(false));
        let [input, signal, output, run] = [is_set(0), is_set(1), is_set(2), is_set(3)];
        ensure!(!signal, "ended by a signal");
        ensure!(!output, "no one reads the answers any more");
        if run {
            return Ok(Woken::Run);
        }
        if !input {
            return Ok(Woken::Input);
        }
        let mut chunk = [0; 1 << 16];
        // Unbuffered: what is not read yet must be visible to poll.
        let count = File::from(stdin.as_fd().try_clone_to_owned()?).read(&mut chunk).context("standard input")?;
        self.heard = Instant::now();
        self.bytes.extend(&chunk[..count]);
        Ok(if count == 0 { Woken::End } else { Woken::Input })
    }
}

fn failed(error: &anyhow::Error) -> Answer {
    Answer::Failed { error: format!("{error:#}") }
}

/// The bytes behind a request.
struct Archive<'a, 'b> {
    session: &'a mut Session<'b>,
    left: u64,
}

impl Archive<'_, '_> {
    fn store(&mut self, name: &str) -> Result<()> {
        let store = self.session.store;
        store.take(name, self)
    }
}

impl Read for Archive<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        while self.session.bytes.is_empty() {
            match self.session.wait().map_err(io::Error::other)? {
                Woken::Input => {}
                Woken::End => return Err(io::ErrorKind::UnexpectedEof.into()),
                Woken::Run => self.session.end_run().map_err(io::Error::other)?,
            }
        }
        let count = self.session.bytes.len().min(buffer.len()).min(usize::try_from(self.left).unwrap_or(usize::MAX));
        buffer[..count].copy_from_slice(&self.session.bytes[..count]);
        self.session.bytes.drain(..count);
        self.left -= count as u64;
        Ok(count)
    }
}
