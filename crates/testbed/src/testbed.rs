//! What every testbed can do.
//!
//! A new testbed is a folder beside `vm/`, `sim/`, `netns/` and `hosts/` with a type that implements [`Testbed`], and a line in
//! [`TESTBEDS`](crate::registry::TESTBEDS).

use std::{fmt::Debug, path::Path};

use anyhow::{Result, bail};
use quiclab_experiment::{
    foreign_setting,
    run::{Run, Versions},
    scenario::ScenarioRun,
    stack::StackManifest,
};
use quiclab_record::Seen;

use crate::{
    collect::RunFailure,
    perform::{Host, HostUse},
    sim::transfers::{HandshakeCosts, HandshakeSeen},
    stack::{Made, Source},
    stack_store::StackStore,
};

/// The name of the testbed in a run's versions.
pub const TESTBED_VERSION: &str = "testbed";
pub use quiclab_experiment::run::{CLOCK_VERSION, WALL_CLOCK, is_sample};

/// A place where runs happen. It keeps what it has built and prepared, and is shared by all workers.
pub trait Testbed: Debug + Send + Sync {
    /// Its name: the value of `--testbed`, and of `testbed` in the versions of its runs.
    fn name(&self) -> &'static str;

    /// What it is, in one line for `--help`.
    fn about(&self) -> &'static str;

    /// Name of the folder with the stacks that it runs, such as `stacks`.
    fn stacks_folder(&self) -> &'static str;

    /// Whether it also runs stacks that were imported as container images.
    fn runs_images(&self) -> bool {
        false
    }

    /// Whether the same run gives the same bytes again. Where time is real it does not: a repetition is a sample, and runs
    /// that share the machine disturb each other.
    fn is_exact(&self) -> bool {
        true
    }

    /// Whether its runs are in real time and on this machine, so that whatever else the machine does disturbs them. A testbed whose runs are
    /// on other machines says no.
    fn runs_here_in_real_time(&self) -> bool {
        !self.is_exact()
    }

    /// Why it cannot do exactly what `run` asks for, and which testbed can; `None` where it can. Called before anything is built.
    /// The settings say by themselves which testbed has them.
    fn refuse(&self, run: &Run) -> Option<String> {
        foreign_setting(&run.settings, self.name())
    }

    /// Why the numbers of `run` would not be those of what it asks for, although it can be performed; `None` where nothing is known against it.
    /// Called before anything is built.
    fn doubt(&self, _run: &Run) -> Option<String> {
        None
    }

    /// Whether it also runs flows of models.
    fn runs_models(&self) -> bool {
        false
    }

    /// Looks for what this machine must have whatever is run, before anything is built.
    ///
    /// # Errors
    /// What is missing, with how to get it.
    fn check_machine(&self) -> Result<()> {
        Ok(())
    }

    /// Makes those things that `run` needs whatever its stacks are, such as a kernel. Called while stacks are being built;
    /// [`Testbed::prepare`] makes them too where it finds them missing.
    ///
    /// # Errors
    /// As [`Testbed::prepare`].
    fn prepare_early(&self, _supplies: &StackStore, _run: &Run) -> Result<()> {
        Ok(())
    }

    /// True where [`Testbed::build`] would find a build of exactly this source in the cache.
    ///
    /// # Errors
    /// Where the source cannot be read.
    fn is_built(&self, stack_store: &StackStore, source: &Source) -> Result<bool>;

    /// Builds a stack unless the cache has it; where `again`, even then. Keeps it for the runs that follow.
    ///
    /// # Errors
    /// A missing toolchain or package, named with how to get it, a failed build, or an interruption.
    fn build(&self, stack_store: &StackStore, source: &Source, again: bool) -> Result<Built>;

    /// Makes what the run of `task` needs besides its stacks, which are built already, as far as the cache lacks it.
    ///
    /// # Errors
    /// A missing program with how to get it, or an interruption.
    fn prepare(&self, stack_store: &StackStore, task: Task, host: &Host) -> Result<()>;

    /// Waits until no other process performs runs that this one's would disturb, and keeps others waiting until this process ends. Called before
    /// each run, and before its record is locked.
    ///
    /// # Errors
    /// An interruption, or where `stack_store` says not to wait.
    fn take_turn(&self, _supplies: &StackStore, _host: &Host) -> Result<()> {
        Ok(())
    }

    /// What the run of `task` is made with: part of its identity. Needs what [`Testbed::prepare`] makes. Has the testbed's own name under
    /// [`TESTBED_VERSION`].
    ///
    /// # Errors
    /// Where a part cannot be read.
    fn versions(&self, task: Task) -> Result<Versions>;

    /// Performs the run of `task` once and writes what happened into the draft of a record: the capture, and what the endpoints
    /// wrote.
    ///
    /// # Errors
    /// Where the testbed itself fails, or is interrupted. A run that fails is an [`Attempt`] all the same.
    fn perform(&self, task: Task, place: Place, host: &Host) -> Result<Attempt>;

    /// Performs the transfer of `task` many times with other seeds, without records, and hands over what was measured of each. `work` is an empty
    /// folder. Returns the CPU seconds of all of them.
    ///
    /// # Errors
    /// Where this testbed starts its endpoints for every run, an endpoint fails, or an interruption.
    fn handshakes(
        &self,
        _task: Task,
        _work: &Path,
        _host: &Host,
        _count: u64,
        _each: &mut dyn FnMut(HandshakeSeen) -> Result<()>,
    ) -> Result<HandshakeCosts> {
        bail!("the testbed {} cannot perform several handshakes with the same processes", self.name())
    }
}

/// A run, and what else it takes to perform it.
#[derive(Clone, Copy, Debug)]
pub enum Task<'a> {
    /// A transfer, and what its stacks say of themselves.
    Transfer(&'a Run, Manifests<'a>),
    /// Flows of models, which need no stacks.
    Models(&'a ScenarioRun),
}

impl<'a> Task<'a> {
    /// The transfer.
    ///
    /// # Errors
    /// Of models: [`refusal`] says so before.
    pub fn transfer(self) -> Result<(&'a Run, Manifests<'a>)> {
        match self {
            Self::Transfer(run, manifests) => Ok((run, manifests)),
            Self::Models(_) => bail!("found flows of models, expected a transfer between stacks"),
        }
    }
}

/// What the two stacks of a run say of themselves, with the variables that they are started with.
#[derive(Clone, Copy, Debug)]
pub struct Manifests<'a> {
    /// The stack that serves.
    pub server: &'a StackManifest,
    /// The stack that fetches; may be the same.
    pub client: &'a StackManifest,
}

/// Where a testbed writes while it performs a run.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// What becomes the record.
    pub draft: &'a Path,
    /// An empty folder on the same disk, for what goes away with the end of the run.
    pub work: &'a Path,
}

/// A stack that was built.
#[derive(Clone, Debug)]
pub struct Built {
    /// SHA-256 of its files, as the testbed runs them.
    pub digest: String,
    /// Whether it was built just now.
    pub made: Made,
}

/// What came of a run.
#[derive(Debug)]
pub struct Attempt {
    /// Why the run has no record; `None` where all went well.
    pub failure: Option<RunFailure>,
    /// What was seen besides the packets; `None` where the testbed broke down before it could tell. Always there where nothing failed.
    pub seen: Option<Seen>,
    /// What its processes used of this machine.
    pub host_use: HostUse,
}
