//! Virtual machines as a testbed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context, Result};
use quiclab_experiment::{
    PATCHED_KERNEL, TestbedName, foreign_setting,
    run::{Run, Versions},
};

use super::{
    agent::agent, kernel::Kernel, kernel_build::Recipe, kernel_module::with_modules, machine::qemu_version, path,
    run::Vm, state::Guest,
};
use crate::{
    built_stacks::BuiltStacks,
    perform::Host,
    stack::{BuiltStack, Source},
    stack_store::StackStore,
    testbed::{Attempt, Built, Place, Task, Testbed},
};

/// Its name.
pub const NAME: &str = TestbedName::Vm.as_str();

/// Folder of what is made for kernels, beside that of the stacks.
const KERNELS: &str = "kernel";

/// Real stacks and kernels in QEMU, in virtual time.
#[derive(Debug, Default)]
pub struct VirtualMachines {
    /// The stacks that were built.
    stacks: BuiltStacks<BuiltStack>,
    /// What guests are made of, by the kernel that they need.
    guests: Mutex<BTreeMap<String, Vm>>,
}

impl Testbed for VirtualMachines {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Real stacks and kernels in QEMU, in virtual time"
    }

    fn stacks_folder(&self) -> &'static str {
        "stacks"
    }

    fn runs_images(&self) -> bool {
        true
    }

    fn refuse(&self, run: &Run) -> Option<String> {
        foreign_setting(&run.settings, self.name()).or_else(|| path::choose(&run.settings).err())
    }

    fn is_built(&self, stack_store: &StackStore, source: &Source) -> Result<bool> {
        Ok(BuiltStack::find(&stack_store.cache, source)?.is_some())
    }

    fn build(&self, stack_store: &StackStore, source: &Source, again: bool) -> Result<Built> {
        self.stacks.build(stack_store, source, again, Ok)
    }

    fn check_machine(&self) -> Result<()> {
        qemu_version()?;
        agent().map(drop)
    }

    fn prepare_early(&self, stack_store: &StackStore, run: &Run) -> Result<()> {
        self.make_guest(stack_store, run).map(drop)
    }

    fn prepare(&self, stack_store: &StackStore, task: Task, host: &Host) -> Result<()> {
        let (run, manifests) = task.transfer()?;
        let name = guest_name(run);
        let vm = self.make_guest(stack_store, run)?;
        let stacks = self.stacks.of(run)?;
        vm.prepare(run, stacks.sides(manifests), host, &mut |size| {
            stack_store
                .say(&format!("booting a guest of {} MiB with kernel {name} (once; some 10 s)", size.memory_mib));
        })
    }

    fn versions(&self, task: Task) -> Result<Versions> {
        let (run, manifests) = task.transfer()?;
        self.guest(run)?.versions(run, self.stacks.of(run)?.sides(manifests))
    }

    fn perform(&self, task: Task, place: Place, host: &Host) -> Result<Attempt> {
        let (run, manifests) = task.transfer()?;
        self.guest(run)?.perform(run, self.stacks.of(run)?.sides(manifests), place, host)
    }
}

impl VirtualMachines {
    /// The guest of a run, made where nobody has asked for it yet.
    fn make_guest(&self, stack_store: &StackStore, run: &Run) -> Result<Vm> {
        let name = guest_name(run);
        let known = lock(&self.guests).get(&name).cloned();
        match known {
            Some(vm) => Ok(vm),
            None => {
                let vm = make_guest(stack_store, run)?;
                Ok(lock(&self.guests).entry(name).or_insert(vm).clone())
            }
        }
    }

    fn guest(&self, run: &Run) -> Result<Vm> {
        lock(&self.guests).get(&guest_name(run)).cloned().context("the guest of the run was not prepared")
    }
}

fn make_guest(stack_store: &StackStore, run: &Run) -> Result<Vm> {
    let qemu_version = qemu_version()?;
    let agent = agent()?;
    let mut kernel = kernel(stack_store, &run.settings.vm.kernel)?;
    if run.settings.needs_modules() {
        kernel = with_modules(&stack_store.cache, &kernel, &kernels(stack_store).join("module"))?;
    }
    Ok(Vm { cache: stack_store.cache.clone(), guest: Guest { kernel, agent, qemu_version } })
}

/// The kernel `name`, from the cache or the package archive.
///
/// # Errors
/// As [`Kernel::prepare`], and [`Recipe::built`] for the one that is built only where it is asked for.
pub fn kernel(stack_store: &StackStore, name: &str) -> Result<Kernel> {
    if name == PATCHED_KERNEL {
        return paced_kernel(stack_store)?.built(&stack_store.cache);
    }
    if Kernel::find(&stack_store.cache, name).is_none() {
        stack_store.say(&format!("fetching kernel {name} from the package archive (once)"));
    }
    Kernel::prepare(&stack_store.cache, name)
}

/// What the kernel with paced segmentation offload is made of.
///
/// # Errors
/// As [`Recipe::read`].
pub fn paced_kernel(stack_store: &StackStore) -> Result<Recipe> {
    Recipe::read(&kernels(stack_store).join("patch"))
}

fn kernels(stack_store: &StackStore) -> PathBuf {
    stack_store.stacks.parent().unwrap_or(Path::new("")).join(KERNELS)
}

/// Which guest a run needs.
fn guest_name(run: &Run) -> String {
    let module = if run.settings.needs_modules() { " with quiclab's modules" } else { "" };
    format!("{}{module}", run.settings.vm.kernel)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
