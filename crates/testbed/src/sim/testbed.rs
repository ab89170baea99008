//! The simulator as a testbed.

use std::{path::Path, sync::OnceLock};

use anyhow::Result;
use quiclab_experiment::{
    foreign_setting,
    run::{Run, Settings, Versions},
};

use super::{
    models,
    program::Program,
    transfers::{self, HandshakeCosts, HandshakeSeen},
};
use crate::{
    built_stacks::BuiltStacks,
    perform::Host,
    sandbox,
    stack::Source,
    stack_store::StackStore,
    testbed::{Attempt, Built, Place, Task, Testbed},
};

/// Its name.
pub const NAME: &str = "sim";

/// Models of TCP, and stacks that need no sockets on models of hosts.
#[derive(Debug, Default)]
pub struct Simulator {
    /// The stacks that were built.
    programs: BuiltStacks<Program>,
    /// Missing parts of the sandbox are named once.
    warning: OnceLock<()>,
}

impl Testbed for Simulator {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "A simulator: models of TCP, and stacks without sockets on modelled hosts"
    }

    fn stacks_folder(&self) -> &'static str {
        "sans-io"
    }

    fn refuse(&self, run: &Run) -> Option<String> {
        foreign_setting(&run.settings, self.name()).or_else(|| stage_with_bytes(&run.settings))
    }

    fn is_built(&self, stack_store: &StackStore, source: &Source) -> Result<bool> {
        Program::is_built(&stack_store.cache, source)
    }

    fn build(&self, stack_store: &StackStore, source: &Source, again: bool) -> Result<Built> {
        let (program, made) = Program::prepare(&stack_store.cache, source, again, &stack_store.stop)?;
        let built = Built { digest: program.digest.clone(), made };
        self.programs.insert(&source.manifest.name, program);
        Ok(built)
    }

    fn runs_models(&self) -> bool {
        true
    }

    fn prepare(&self, stack_store: &StackStore, task: Task, _: &Host) -> Result<()> {
        if let Task::Transfer(..) = task {
            self.warning.get_or_init(|| {
                sandbox::warning("stacks without sockets").iter().for_each(|warning| stack_store.say(warning));
            });
        }
        Ok(())
    }

    fn versions(&self, task: Task) -> Result<Versions> {
        match task {
            Task::Transfer(run, manifests) => transfers::versions(run, self.programs.of(run)?.sides(manifests)),
            Task::Models(run) => Ok(models::versions(run)),
        }
    }

    fn handshakes(
        &self,
        task: Task,
        work: &Path,
        host: &Host,
        count: u64,
        each: &mut dyn FnMut(HandshakeSeen) -> Result<()>,
    ) -> Result<HandshakeCosts> {
        let (run, manifests) = task.transfer()?;
        transfers::handshakes(run, self.programs.of(run)?.sides(manifests), work, host, count, each)
    }

    fn perform(&self, task: Task, place: Place, host: &Host) -> Result<Attempt> {
        match task {
            Task::Transfer(run, manifests) => {
                transfers::perform(run, self.programs.of(run)?.sides(manifests), place, host)
            }
            Task::Models(run) => models::perform(run, host),
        }
    }
}

/// Why the simulator cannot run a path: its packets have no headers, and nobody there computes checksums.
fn stage_with_bytes(settings: &Settings) -> Option<String> {
    let both = [("path.to_client", settings.stages_to_client()), ("path.to_server", settings.stages_to_server())];
    let found = both.iter().find_map(|(list, stages)| {
        stages.iter().find(|stage| stage.settings.changes_bytes()).map(|stage| (*list, stage.name.clone()))
    });
    found.map(|(list, name)| {
        format!("{list}: stage {name:?}: the simulator does not change bytes of packets\nhint: --testbed vm does")
    })
}
