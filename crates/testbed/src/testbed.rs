//! What every testbed can do, and the list of those there are.
//!
//! A new testbed is a folder beside `vm/`, `sim/`, `netns/` and `hosts/` with a type that implements [`Testbed`], and a line in [`TESTBEDS`].

use std::{fmt::Debug, path::Path, sync::Arc};

use anyhow::{Result, bail};
use quiclab_experiment::{
    AnyRun, foreign_setting,
    run::{Run, Versions},
    scenario::ScenarioRun,
    stack::StackManifest,
};
use quiclab_record::Seen;

use crate::{
    collect::RunFailure,
    hosts::Hosts,
    netns::Namespaces,
    perform::{Host, HostUse},
    sim::{
        testbed::Simulator,
        transfers::{HandshakeCosts, HandshakeSeen},
    },
    stack::{Made, Source},
    stack_store::StackStore,
    vm::testbed::VirtualMachines,
};

/// Every testbed. The first one is the default.
pub const TESTBEDS: &[fn() -> Arc<dyn Testbed>] = &[
    || Arc::new(VirtualMachines::default()),
    || Arc::new(Simulator::default()),
    || Arc::new(Namespaces::default()),
    || Arc::new(Hosts::default()),
];

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

/// Why `testbed` cannot do exactly what `run` asks for, whatever its workload, as [`Testbed::refuse`] says it; `None` where it can.
pub fn refusal(testbed: &dyn Testbed, run: &AnyRun) -> Option<String> {
    match run {
        AnyRun::Transfer(run) => testbed.refuse(run),
        AnyRun::Models(_) if testbed.runs_models() => None,
        AnyRun::Models(_) => Some(format!(
            "found flows of models with --testbed {}, expected --testbed {}\nhint: a file with [workload] and [stack] instead \
             of [flows] runs real stacks",
            testbed.name(),
            crate::sim::testbed::NAME
        )),
    }
}

/// The testbed of that name.
///
/// # Errors
/// Where there is none: the message names those there are.
pub fn testbed(name: &str) -> Result<Arc<dyn Testbed>> {
    match TESTBEDS.iter().map(|make| make()).find(|testbed| testbed.name() == name) {
        Some(testbed) => Ok(testbed),
        None => bail!("testbed: found {name:?}, expected one of {}", names().join(", ")),
    }
}

/// The testbed for runs of stacks where none is named.
pub fn default_testbed() -> Arc<dyn Testbed> {
    TESTBEDS[0]()
}

/// The testbed that made a run, by its versions.
///
/// # Errors
/// Where the versions name none, or one that this quiclab does not have.
pub fn testbed_of(versions: &Versions) -> Result<Arc<dyn Testbed>> {
    match versions.get(TESTBED_VERSION) {
        Some(name) => testbed(name).map_err(|error| {
            error.context("versions: the record was made on a testbed that this version of quiclab does not know")
        }),
        None => bail!("versions.{TESTBED_VERSION}: missing; expected one of {}", names().join(", ")),
    }
}

/// The names of all testbeds.
pub fn names() -> Vec<&'static str> {
    TESTBEDS.iter().map(|make| make().name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn testbeds_have_different_names_and_are_found_by_them() {
        let mut all = names();
        for name in &all {
            assert_eq!(testbed(name).unwrap().name(), *name);
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), TESTBEDS.len());
    }

    #[test]
    fn an_unknown_testbed_in_a_record_is_named_with_the_known_ones() {
        let of = |name: &str| testbed_of(&Versions::from([(TESTBED_VERSION.to_owned(), name.to_owned())]));
        assert_eq!(of("sim").unwrap().name(), "sim");
        let error = format!("{:#}", of("moon").unwrap_err());
        for part in ["\"moon\"", "vm, sim, netns, hosts", "this version of quiclab"] {
            assert!(error.contains(part), "{error}");
        }
        let error = testbed_of(&Versions::new()).unwrap_err().to_string();
        assert!(error.contains("versions.testbed: missing"), "{error}");
    }
}
