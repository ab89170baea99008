//! The simulator as a testbed.

use anyhow::Result;
use quiclab_experiment::run::{Run, Versions};

use super::{program::Program, transfers};
use crate::{
    perform::Host,
    shelf::Shelf,
    stack::Source,
    supplies::Supplies,
    testbed::{Attempt, Built, Manifests, Place, Testbed},
};

/// Its name.
pub const NAME: &str = "sim";

/// Models of TCP, and stacks that need no sockets on models of hosts.
#[derive(Debug, Default)]
pub struct Simulator {
    /// The stacks that were built.
    programs: Shelf<Program>,
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

    fn is_built(&self, supplies: &Supplies, source: &Source) -> Result<bool> {
        Program::is_built(&supplies.cache, source)
    }

    fn build(&self, supplies: &Supplies, source: &Source, again: bool) -> Result<Built> {
        let (program, made) = Program::prepare(&supplies.cache, source, again, &supplies.stop)?;
        let built = Built { digest: program.digest.clone(), made };
        self.programs.insert(&source.manifest.name, program);
        Ok(built)
    }

    fn prepare(&self, _: &Supplies, _: &Run, _: Manifests, _: &Host) -> Result<()> {
        Ok(())
    }

    fn versions(&self, run: &Run, manifests: Manifests) -> Result<Versions> {
        transfers::versions(run, self.programs.of(run)?.sides(manifests))
    }

    fn perform(&self, run: &Run, manifests: Manifests, place: Place, host: &Host) -> Result<Attempt> {
        transfers::perform(run, self.programs.of(run)?.sides(manifests), place, host)
    }
}
