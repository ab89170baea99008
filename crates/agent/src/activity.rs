//! Samples what the processes of a run and the machine do while the client lives: CPU time by thread and by core, context switches, drops at
//! sockets, system calls, sizes of batches, and what the processor counts.
//!
//! A thread reads the kernel's own counters once per step. What depends on no permission is in [`tasks`], [`cores`] and [`sockets`]; what the
//! kernel may refuse, [`events`], [`system_calls`] and [`batches`], is noted as missing, with the reason. [`recorder`] keeps the numbers.

mod batches;
mod cores;
pub mod events;
mod recorder;
mod sockets;
mod system_calls;
mod tasks;

use std::{
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow};
use nix::time::{ClockId, clock_gettime};
use quiclab_agent_protocol::activity::{Activity, Missing, Sampling};

use self::{
    batches::BatchCounters, cores::Cores, events::Events, recorder::Recorder, sockets::UdpSockets,
    system_calls::SystemCalls, tasks::Tasks,
};
use crate::{namespace::Namespace, sandbox::Sandbox};

/// The endpoints, in the order in which everything here has them.
pub const ROLES: [&str; 2] = ["server", "client"];

/// An endpoint that is watched.
#[derive(Clone, Copy)]
pub struct Watched<'a> {
    /// `server` or `client`.
    pub role: &'static str,
    /// Its network.
    pub network: &'a Namespace,
    /// What surrounds its processes.
    pub sandbox: &'a Sandbox,
}

/// Sampling that goes on. Dropping it ends it.
pub struct Sampler {
    messages: Option<Sender<Message>>,
    thread: Option<JoinHandle<Result<Activity>>>,
}

enum Message {
    /// The client has started; this is its first process.
    Client(u32),
}

impl Sampler {
    /// Takes the first sample of the endpoints that are here, and begins to take others in a thread of its own. `events` count for the
    /// server already.
    ///
    /// # Errors
    /// Where the kernel's tables cannot be read, which needs no permission.
    pub fn start(sampling: Sampling, watched: &[Watched], events: Events) -> Result<Self> {
        let mut sources = Sources::open(sampling, watched, events)?;
        let mut recorder = Recorder::default();
        sources.sample(&mut recorder)?;
        let (messages, inbox) = channel();
        let step = Duration::from_nanos(sampling.step_ns.max(1));
        let work = move || -> Result<Activity> {
            let mut next = Instant::now() + step;
            loop {
                let is_last = match inbox.recv_timeout(next.saturating_duration_since(Instant::now())) {
                    Ok(Message::Client(process)) => {
                        sources.events.attach(ROLES[1], process);
                        continue;
                    }
                    Err(RecvTimeoutError::Timeout) => false,
                    Err(RecvTimeoutError::Disconnected) => true,
                };
                sources.sample(&mut recorder)?;
                if is_last {
                    return Ok(sources.finish(recorder));
                }
                // A sampler that came late skips steps instead of taking them all at once.
                next = (next + step * recorder.thin_out()).max(Instant::now());
            }
        };
        let thread = std::thread::Builder::new().name("sampler".into()).spawn(work)?;
        Ok(Self { messages: Some(messages), thread: Some(thread) })
    }

    /// The client has started, and this is its first process.
    pub fn watch_client(&self, process: u32) {
        // A sampler that has ended says why when it is finished.
        let _ = self.messages.as_ref().map(|messages| messages.send(Message::Client(process)));
    }

    /// Takes the last sample, and ends.
    ///
    /// # Errors
    /// Where the kernel's tables could not be read or understood.
    pub fn finish(mut self) -> Result<Activity> {
        self.join().unwrap_or_else(|| Err(anyhow!("it was ended before"))).context("sampling what the hosts do")
    }

    fn join(&mut self) -> Option<Result<Activity>> {
        drop(self.messages.take());
        let thread = self.thread.take()?;
        Some(thread.join().unwrap_or_else(|_| Err(anyhow!("its thread panicked"))))
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.join();
    }
}

/// The activity of a run that could not be sampled at all, for this reason.
pub fn nothing(reason: &anyhow::Error) -> Activity {
    let missing = vec![Missing { what: "activity".to_owned(), reason: format!("{reason:#}") }];
    Activity { missing, ..Activity::default() }
}

/// Everything that is read.
struct Sources {
    tasks: Tasks,
    cores: Cores,
    sockets: Vec<(&'static str, UdpSockets)>,
    events: Events,
    system_calls: Option<SystemCalls>,
    batches: Option<BatchCounters>,
    missing: Vec<Missing>,
}

impl Sources {
    fn open(sampling: Sampling, watched: &[Watched], events: Events) -> Result<Self> {
        let mut missing = Vec::new();
        let mut note = |what: &str, error: anyhow::Error| {
            missing.push(Missing { what: what.to_owned(), reason: format!("{error:#}") });
        };
        let system_calls = SystemCalls::count(sampling, watched).map_err(|error| note(system_calls::NAME, error)).ok();
        let batches = BatchCounters::install(watched).map_err(|error| note(batches::NAME, error)).ok();
        let open = |one: &Watched| anyhow::Ok((one.role, one.network.inside(UdpSockets::open)?));
        let sockets = watched.iter().map(open).collect::<Result<_>>()?;
        let tasks = Tasks::new(watched);
        Ok(Self { tasks, cores: Cores::open()?, sockets, events, system_calls, batches, missing })
    }

    fn sample(&mut self, recorder: &mut Recorder) -> Result<()> {
        let time = clock_gettime(ClockId::CLOCK_REALTIME)?;
        recorder.begin_sample(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64);
        self.tasks.sample(recorder)?;
        self.events.sample(recorder);
        self.cores.sample(recorder)?;
        for (role, sockets) in &mut self.sockets {
            sockets.sample(role, recorder)?;
        }
        if let Some(calls) = &mut self.system_calls {
            calls.sample(recorder)?;
        }
        Ok(())
    }

    fn finish(self, recorder: Recorder) -> Activity {
        let mut missing = self.missing;
        missing.extend(self.events.missing());
        let (times_ns, series) = recorder.finish();
        let mut batches = Vec::new();
        if let Some(counters) = &self.batches {
            match counters.counted() {
                Ok(counted) => batches = counted,
                Err(error) => {
                    missing.push(Missing { what: batches::NAME.to_owned(), reason: format!("{error:#}") });
                }
            }
        }
        Activity {
            times_ns,
            series,
            system_calls: self.system_calls.map_or_else(Default::default, |calls| calls.by_number()),
            batches,
            missing,
            threads_not_listed: self.tasks.not_listed(),
        }
    }
}
