//! Virtual machines as a testbed.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context, Result};
use quiclab_experiment::{
    TestbedName, foreign_setting,
    run::{Run, StageList, Versions},
};
use quiclab_units::{ByteCount, Rate};

use super::{machine::qemu_version, run::Vm, state::Guest};
use crate::{
    built_stacks::BuiltStacks,
    guest::{
        agent::agent,
        kernels::{kernel, kernels},
        path,
    },
    kernel_module::with_modules,
    perform::Host,
    stack::{BuiltStack, Source},
    stack_store::StackStore,
    testbed::{Attempt, Built, Place, Task, Testbed},
};

/// Its name.
pub const NAME: &str = TestbedName::Vm.as_str();

/// A rate at which the CPU of the guest is busy all the time (docs/concepts/virtual-testbed.md).
const FASTEST: Rate = Rate::from_bits_per_second(100_000_000);
/// Bytes of a transfer that is long enough to fill such a path.
const LONG_TRANSFER: ByteCount = ByteCount::from_bytes(1 << 20);

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

    fn doubt(&self, run: &Run) -> Option<String> {
        let path = &run.settings.path;
        let is_too_fast = path.to_client == StageList::Bottleneck && path.rate > FASTEST;
        (is_too_fast && run.settings.workload.bytes_both_ways() >= LONG_TRANSFER).then(|| {
            format!(
                "path.rate is {}: from about {FASTEST} on, the virtual machine's CPU, which both endpoints share, is slower than the path, and \
                 a long transfer measures the CPU\n    hint: --testbed netns runs as fast as this machine can",
                path.rate
            )
        })
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

/// Which guest a run needs.
fn guest_name(run: &Run) -> String {
    let module = if run.settings.needs_modules() { " with quiclab's modules" } else { "" };
    format!("{}{module}", run.settings.vm.kernel)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use quiclab_experiment::{Experiment, Overrides, run::Run};

    use super::*;

    fn run(rate: &str, size: &str) -> Run {
        let text = format!(
            "name = \"x\"\ntitle = \"x\"\n[stack]\nname = \"s\"\n[workload]\nsize = \"{size}\"\n[path]\nrate = \"{rate}\"\n"
        );
        let manifest = include_str!("../../../../stacks/quinn/stack.toml").replace("\"quinn\"", "\"s\"");
        let manifests = BTreeMap::from([("s".to_owned(), toml::from_str(&manifest).unwrap())]);
        let plan = Experiment::parse("x.toml", &text, None).unwrap().plan(&manifests, &Overrides::default()).unwrap();
        plan.runs.into_iter().next().unwrap()
    }

    #[test]
    fn a_rate_beyond_the_guest_is_doubted_where_a_transfer_could_fill_it() {
        let testbed = VirtualMachines::default();
        for (rate, size, is_doubted) in [
            ("40 Mbit/s", "100 MiB", false),
            ("100 Mbit/s", "100 MiB", false),
            ("1000 Gbit/s", "10 MiB", true),
            ("1 Gbit/s", "10 kB", false),
        ] {
            let doubt = testbed.doubt(&run(rate, size));
            assert_eq!(doubt.is_some(), is_doubted, "{rate}, {size}: {doubt:?}");
            assert!(doubt.is_none_or(|doubt| doubt.contains("--testbed netns")));
        }
    }
}
