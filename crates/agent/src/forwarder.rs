//! The forwarder: a thread that moves packets between the hosts in user space, through stages of the path model.
//!
//! It takes the place of the kernel's `tc mirred` and its disciplines where a stage has no exact discipline. What it does with packets is
//! [`engine`]; how it gets them is [`packets`]; what they hold is [`contents`].

pub mod busiest;
pub mod contents;
pub mod engine;
pub mod frame;
pub mod lateness;
mod memory;
pub mod nat;
pub mod packets;
pub mod ring;
pub mod socket;

use std::{
    os::fd::{AsFd, BorrowedFd},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

use anyhow::{Context, Result, anyhow};
use nix::{
    sched::{CpuSet, sched_setaffinity},
    sys::eventfd::{EfdFlags, EventFd},
    unistd::Pid,
};
use quiclab_agent_protocol::forwarder::{self as orders, ForwarderReport};

use self::{
    engine::Engine,
    packets::{PacketCards, Sockets, StampClock},
};
use crate::namespace::Namespace;

/// Above all other threads with `SCHED_FIFO` that the kernel has not made itself: endpoints never keep packets from moving on.
const PRIORITY: libc::c_int = 60;

/// A forwarder. Dropping it ends its thread.
pub struct Forwarder {
    order: orders::Forwarder,
    key_logs: Vec<PathBuf>,
    sockets: Option<Sockets>,
    thread: Option<JoinHandle<(Option<ForwarderReport>, Result<()>)>>,
    end: EventFd,
    has_ended: EventFd,
    waiting: Arc<AtomicU64>,
    cpus: Option<CpuSet>,
}

impl Forwarder {
    /// Opens its sockets in the namespace of the wire. Packets wait in them until it is started. The endpoints write `key_logs`.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn open(order: &orders::Forwarder, key_logs: Vec<PathBuf>, wire: &Namespace) -> Result<Self> {
        let signal = || EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC).context("eventfd");
        Ok(Self {
            order: order.clone(),
            key_logs,
            sockets: Some(wire.inside(|| Sockets::open(order.real_time))?),
            thread: None,
            end: signal()?,
            has_ended: signal()?,
            waiting: Arc::default(),
            cpus: None,
        })
    }

    /// Lets its thread run on these CPUs only.
    pub fn run_on(&mut self, cpus: Option<CpuSet>) {
        self.cpus = cpus;
    }

    /// Starts the thread, and its time.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn start(&mut self) -> Result<()> {
        let sockets = self.sockets.take().context("the forwarder was started before")?;
        let signal = |signal: &EventFd| -> Result<EventFd> {
            // SAFETY: the descriptor is that of an eventfd, new and ours.
            Ok(unsafe { EventFd::from_owned_fd(signal.as_fd().try_clone_to_owned()?) })
        };
        let (end, has_ended) = (signal(&self.end)?, signal(&self.has_ended)?);
        let (order, key_logs, waiting) = (self.order.clone(), self.key_logs.clone(), self.waiting.clone());
        let clock = StampClock::start()?;
        let cpus = self.cpus;
        let work = move || {
            if let Some(Err(error)) = cpus.map(|cpus| sched_setaffinity(Pid::from_raw(0), &cpus)) {
                let _ = has_ended.write(1);
                return (None, Err(anyhow!(error).context("hosts.forwarder_cpus")));
            }
            let is_realtime = be_punctual();
            let cards = PacketCards::new(sockets, clock, end, order.real_time);
            let ended = forward(&order, &key_logs, cards, clock, waiting, is_realtime);
            let _ = has_ended.write(1);
            ended
        };
        self.thread = Some(std::thread::Builder::new().name("forwarder".into()).spawn(work)?);
        Ok(())
    }

    /// Becomes readable when it has ended, which it does by itself only where it has failed.
    pub fn watch(&self) -> BorrowedFd<'_> {
        self.has_ended.as_fd()
    }

    /// Packets that have entered the path and not left it.
    pub fn packets_waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Ends it. Answers what it did, if it was started, and what went wrong, if anything did.
    pub fn finish(mut self) -> (Option<ForwarderReport>, Result<()>) {
        self.join().unwrap_or((None, Ok(())))
    }

    fn join(&mut self) -> Option<(Option<ForwarderReport>, Result<()>)> {
        let thread = self.thread.take()?;
        let _ = self.end.write(1);
        let ended = thread.join().unwrap_or_else(|_| (None, Err(anyhow!("its thread panicked"))));
        Some((ended.0, ended.1.context("the forwarder, which moves packets in user space, has failed")))
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.join();
    }
}

/// The thread's work.
fn forward(
    order: &orders::Forwarder,
    key_logs: &[PathBuf],
    cards: PacketCards,
    clock: StampClock,
    waiting: Arc<AtomicU64>,
    is_realtime: bool,
) -> (Option<ForwarderReport>, Result<()>) {
    let mut engine = match Engine::new(order, key_logs, clock, cards, waiting) {
        Ok(engine) => engine,
        Err(error) => return (None, Err(error)),
    };
    let ended = engine.run().and_then(|()| engine.cards().check_losses(engine.busiest()));
    let report = engine.report(is_realtime);
    engine.into_cards().close();
    (Some(report), ended)
}

/// Makes the calling thread run before all others, and its timers exact. False where it may not.
fn be_punctual() -> bool {
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: plain system calls for the calling thread, with a parameter that lives as long.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) == 0
    }
}
