//! What performing a run needs and leaves, on whichever testbed.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use quiclab_experiment::stack::StackManifest;
use quiclab_record::Measured;

use crate::{collect::RunFailure, cores::cores};

pub use quiclab_supplies::process::Interrupted;

/// A stack in one role of a run; `S` is its files, as the testbed has them.
#[derive(Debug)]
pub struct Side<'a, S> {
    /// What it says of itself.
    pub manifest: &'a StackManifest,
    /// Its files.
    pub stack: &'a S,
}

/// The stacks of a run.
#[derive(Debug)]
pub struct Sides<'a, S> {
    /// The one that serves.
    pub server: Side<'a, S>,
    /// The one that fetches; may be the same.
    pub client: Side<'a, S>,
}

// Derived, these would ask it of `S` too.
impl<S> Copy for Side<'_, S> {}
impl<S> Clone for Side<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S> Copy for Sides<'_, S> {}
impl<S> Clone for Sides<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, S> Sides<'a, S> {
    /// The stacks with their roles' names; one alone where it has both.
    pub fn different(self) -> impl Iterator<Item = (&'static str, Side<'a, S>)> {
        let Self { server, client } = self;
        let is_same = client.manifest.name == server.manifest.name;
        [("server", server), ("client", client)].into_iter().take(if is_same { 1 } else { 2 })
    }
}

/// The machine that runs are performed on, for one worker.
#[derive(Clone, Debug)]
pub struct Host {
    /// The core that a virtual machine of it runs on, if no other has it.
    pub core: usize,
    /// Set to end everything.
    pub stop: Arc<AtomicBool>,
    /// Host time after which a run is given up. Virtual timeouts come first unless something is badly wrong.
    pub timeout: Duration,
    /// How long a run in real time waits for the machine to be quiet.
    pub wait_for_quiet: Duration,
}

/// What a run used of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostUse {
    /// CPU seconds, user and system.
    pub cpu_seconds: f64,
    /// Largest resident memory in bytes.
    pub resident_bytes: u64,
}

impl Host {
    /// This machine, for worker number `worker`: a core of its own, as long as there are enough.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn of_worker(worker: usize, stop: Arc<AtomicBool>, timeout: Duration) -> anyhow::Result<Self> {
        let cores = cores()?;
        Ok(Self { core: cores[worker % cores.len()], stop, timeout, wait_for_quiet: Duration::ZERO })
    }

    /// The same, whose runs in real time wait this long for the machine to be quiet.
    #[must_use]
    pub fn waiting_for_quiet(self, longest: Duration) -> Self {
        Self { wait_for_quiet: longest, ..self }
    }
}

/// A run that went well.
#[derive(Clone, Debug)]
pub struct Performed {
    /// Its record.
    pub record: PathBuf,
    /// Its metrics.
    pub measured: Measured,
    /// What its processes used.
    pub host_use: HostUse,
    /// Host time from start to end.
    pub elapsed: Duration,
}

/// How performing a run can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum PerformError {
    /// The run failed; what is known of it is in the folder. Other runs can go on.
    #[error("{failure}")]
    Run {
        /// Why.
        failure: RunFailure,
        /// What its endpoints said, if anything.
        kept: Option<PathBuf>,
    },
    /// The testbed failed, or was told to stop.
    #[error("{0:#}")]
    Testbed(#[from] anyhow::Error),
}

impl From<quiclab_record::RecordError> for PerformError {
    fn from(error: quiclab_record::RecordError) -> Self {
        Self::Testbed(error.into())
    }
}
