//! Namespaces of this machine as a testbed.

use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow};
use quiclab_experiment::{
    TestbedName, foreign_setting,
    run::{Run, Versions},
};

use super::{
    host::Facts,
    path,
    plain::PlainStack,
    run::{perform, versions},
    turn::Turn,
};
use crate::{
    built_stacks::BuiltStacks,
    perform::Host,
    stack::Source,
    stack_store::StackStore,
    testbed::{Attempt, Built, Place, Task, Testbed},
};

/// Its name.
pub const NAME: &str = TestbedName::Netns.as_str();

/// Real stacks on this machine's kernel, in namespaces, in real time.
#[derive(Debug, Default)]
pub struct Namespaces {
    /// The stacks that were built.
    stacks: BuiltStacks<PlainStack>,
    /// This machine, or why it will not do.
    facts: OnceLock<Result<Facts, String>>,
    /// No other process performs runs here meanwhile.
    turn: Turn,
}

impl Testbed for Namespaces {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Real stacks on this machine's kernel, in network namespaces, in real time"
    }

    fn stacks_folder(&self) -> &'static str {
        "stacks"
    }

    fn runs_images(&self) -> bool {
        true
    }

    fn is_exact(&self) -> bool {
        false
    }

    fn refuse(&self, run: &Run) -> Option<String> {
        foreign_setting(&run.settings, NAME).or_else(|| match self.facts() {
            Ok(facts) => path::refuse(run, facts),
            Err(error) => Some(format!("{error:#}")),
        })
    }

    fn check_machine(&self) -> Result<()> {
        self.facts().map(drop)
    }

    fn is_built(&self, stack_store: &StackStore, source: &Source) -> Result<bool> {
        PlainStack::is_built(&stack_store.cache, source)
    }

    fn build(&self, stack_store: &StackStore, source: &Source, again: bool) -> Result<Built> {
        self.stacks.build(stack_store, source, again, |stack| PlainStack::prepare(&stack_store.cache, stack))
    }

    fn prepare(&self, _: &StackStore, _: Task, _: &Host) -> Result<()> {
        self.check_machine()
    }

    fn take_turn(&self, stack_store: &StackStore, host: &Host) -> Result<()> {
        self.turn.take(stack_store, host)
    }

    fn versions(&self, task: Task) -> Result<Versions> {
        let (run, manifests) = task.transfer()?;
        versions(run, self.stacks.of(run)?.sides(manifests), self.facts()?)
    }

    fn perform(&self, task: Task, place: Place, host: &Host) -> Result<Attempt> {
        let (run, manifests) = task.transfer()?;
        perform(run, self.stacks.of(run)?.sides(manifests), self.facts()?, place, host)
    }
}

impl Namespaces {
    /// This machine; looked at once.
    fn facts(&self) -> Result<&Facts> {
        let facts = self.facts.get_or_init(|| Facts::find().map_err(|error| format!("{error:#}")));
        facts.as_ref().map_err(|why| anyhow!("{why}")).context("--testbed netns")
    }
}
