//! The testbed.

use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use quiclab_experiment::{
    TestbedName, foreign_setting,
    run::{Run, Versions},
};

use super::{processor, run::Uml};
use crate::{
    built_stacks::BuiltStacks,
    guest::{agent::agent, kernels::recipe, path},
    kernel_build::UML,
    perform::Host,
    sandbox,
    stack::{BuiltStack, Source},
    stack_store::StackStore,
    testbed::{Attempt, Built, Place, Task, Testbed},
};

/// Its name.
pub(super) const NAME: &str = TestbedName::Uml.as_str();

/// Real stacks on a kernel of User-Mode Linux, in virtual time.
#[derive(Debug, Default)]
pub struct UserModeLinux {
    /// The stacks that were built.
    stacks: BuiltStacks<BuiltStack>,
    /// What guests are made of; `None` until somebody asks for it.
    uml: Mutex<Option<Uml>>,
}

impl Testbed for UserModeLinux {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Real stacks and a kernel that is a program, at full speed, in virtual time in which computing takes none"
    }

    fn stacks_folder(&self) -> &'static str {
        "stacks"
    }

    fn runs_images(&self) -> bool {
        true
    }

    fn refuse(&self, run: &Run) -> Option<String> {
        foreign_setting(&run.settings, NAME).or_else(|| path::choose(&run.settings).err())
    }

    fn is_built(&self, stack_store: &StackStore, source: &Source) -> Result<bool> {
        Ok(BuiltStack::find(&stack_store.cache, source)?.is_some())
    }

    fn build(&self, stack_store: &StackStore, source: &Source, again: bool) -> Result<Built> {
        self.stacks.build(stack_store, source, again, Ok)
    }

    fn check_machine(&self) -> Result<()> {
        agent().map(drop)
    }

    fn prepare_early(&self, stack_store: &StackStore, _: &Run) -> Result<()> {
        self.make(stack_store)
    }

    fn prepare(&self, stack_store: &StackStore, task: Task, _: &Host) -> Result<()> {
        let (_, manifests) = task.transfer()?;
        if let Some(stack) = [manifests.server, manifests.client].into_iter().find(|stack| stack.guest.hardware_random)
            && !processor::is_hidden()
        {
            bail!(
                "{}: takes random numbers from the processor, which the testbed {NAME} cannot hide on this machine, where CPUID cannot \
                 fault: two runs would differ\nhint: --testbed vm, or a machine whose /proc/cpuinfo has the flag cpuid_fault",
                stack.name
            );
        }
        self.make(stack_store)
    }

    fn versions(&self, task: Task) -> Result<Versions> {
        let (run, manifests) = task.transfer()?;
        self.uml()?.versions(run, self.stacks.of(run)?.sides(manifests))
    }

    fn perform(&self, task: Task, place: Place, host: &Host) -> Result<Attempt> {
        let (run, manifests) = task.transfer()?;
        self.uml()?.perform(run, self.stacks.of(run)?.sides(manifests), place, host)
    }
}

impl UserModeLinux {
    /// Finds the kernel and the agent, where nobody has yet.
    fn make(&self, stack_store: &StackStore) -> Result<()> {
        let mut uml = self.uml.lock().unwrap_or_else(PoisonError::into_inner);
        if uml.is_none() {
            let cache = stack_store.cache.clone();
            let kernel = recipe(stack_store, &UML)?.built(&cache).context("--testbed uml")?;
            sandbox::warning("stacks that break out of their kernel")
                .iter()
                .for_each(|warning| stack_store.say(warning));
            *uml = Some(Uml { kernel, agent: agent()?, cache });
        }
        Ok(())
    }

    fn uml(&self) -> Result<Uml> {
        self.uml.lock().unwrap_or_else(PoisonError::into_inner).clone().context("the kernel was not prepared")
    }
}
