//! Performs one run: a boot, orders in, results out.

use std::{fs, io, path::PathBuf};

use anyhow::{Context, Result};
use quiclab_agent_protocol::{orders::Orders, slot};
use quiclab_experiment::run::{Run, Versions};
use quiclab_record::layout::CONSOLE_FILE;

use super::{machine, processor, testbed::NAME, watch::Guest};
use crate::{
    cache::Cache,
    collect::{RunFailure, excerpt},
    guest::{
        machine::{Size, names},
        slot::{collect, orders_of, size, write_slot},
    },
    hash,
    kernel::Kernel,
    perform::{Host, Sides},
    stack::BuiltStack,
    testbed::{Attempt, Place},
};

/// What performing runs needs.
#[derive(Clone, Debug)]
pub(super) struct Uml {
    /// Where stacks are.
    pub(super) cache: Cache,
    /// The kernel.
    pub(super) kernel: Kernel,
    /// The agent's executable.
    pub(super) agent: PathBuf,
}

impl Uml {
    /// What a run between these stacks is made with: part of its identity.
    ///
    /// # Errors
    /// Where a part cannot be read.
    pub(super) fn versions(&self, run: &Run, sides: Sides<BuiltStack>) -> Result<Versions> {
        let size = size(run, sides)?;
        // As in virtual machines of QEMU, repetitions are made with the same versions.
        let first = Run { seed: 0, start_shift: Default::default(), ..run.clone() };
        let orders = slot::encode_orders(&orders(&first, sides, size)?)?;
        let agent = hash::of_file(&self.agent).with_context(|| self.agent.display().to_string())?;
        let mut versions = Versions::from([
            ("testbed".into(), NAME.into()),
            ("processor".into(), processor::seen()?),
            ("orders".into(), hash::Hasher::default().part(&orders).short()),
            ("kernel".into(), self.kernel.version()?),
            (
                "guest".into(),
                hash::Hasher::default()
                    .part(agent.as_bytes())
                    .part(machine::identity(size, run.settings.hosts.cpu).as_bytes())
                    .short(),
            ),
            ("quiclab".into(), env!("CARGO_PKG_VERSION").into()),
        ]);
        for (role, side) in sides.different() {
            side.add_versions(role, &mut versions)?;
        }
        Ok(versions)
    }

    /// Performs `run` and writes what happened.
    ///
    /// # Errors
    /// Where the kernel cannot be started, something cannot be written, or an interruption.
    pub(super) fn perform(&self, run: &Run, sides: Sides<BuiltStack>, place: Place, host: &Host) -> Result<Attempt> {
        let size = size(run, sides)?;
        let orders = orders(run, sides, size)?;
        let [slot_path, console] = [names::SLOT, names::CONSOLE].map(|name| place.work.join(name));
        write_slot(&slot_path, size.slot_bytes, &slot::encode_orders(&orders)?)?;
        let verifying = self.cache.verify_aside(self.parts(sides));
        let (command, sandbox) = machine::command(self, run, sides, size, place.work)?;
        let ended = Guest::start(command, sandbox, host)?.watch(&verifying)?;
        // Before anything is said about the guest: damage explains whatever it did.
        verifying.finish()?;
        let host_use = ended.end.host_use;
        let keep_console = || match fs::copy(&console, place.draft.join(CONSOLE_FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).context("console"),
            _ => Ok(()),
        };
        match collect(NAME, run, &orders, &slot_path, ended.is_switched_off(), place)? {
            Ok((failure, seen)) => {
                if failure.is_some() {
                    keep_console()?;
                }
                Ok(Attempt { failure, seen: Some(seen), host_use })
            }
            Err(why) => {
                keep_console()?;
                let said = format!("{}{why}; its console says: {}", ended.in_words(), excerpt(&console, 4000));
                Ok(Attempt { failure: Some(RunFailure::Guest(said)), seen: None, host_use })
            }
        }
    }

    /// Folders of the cache whose files a run is made of.
    fn parts(&self, sides: Sides<BuiltStack>) -> Vec<PathBuf> {
        let mut parts = vec![self.kernel.folder().to_path_buf()];
        for (_, side) in sides.different() {
            parts.extend([side.stack.image.folder().to_path_buf(), side.stack.folder().to_path_buf()]);
        }
        parts.sort();
        parts.dedup();
        parts
    }
}

/// What the agent is told to do: as in other guests, but that no endpoint draws random numbers from the processor, as far as it can be told.
fn orders(run: &Run, sides: Sides<BuiltStack>, size: Size) -> Result<Orders> {
    let mut orders = orders_of(run, sides, size.slot_bytes)?;
    let (name, value) = processor::WITHOUT_RANDOM_NUMBERS;
    for program in [&mut orders.server, &mut orders.client] {
        program.environment.insert(name.to_owned(), value.to_owned());
    }
    Ok(orders)
}
