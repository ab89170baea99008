//! Performs one run: restore, orders in, results out.

use std::{fs, io, path::PathBuf};

use anyhow::{Context, Result};
use quiclab_agent_protocol::slot::{self, POWER_OFF_STATUS};
use quiclab_experiment::run::{Run, Versions};
use quiclab_record::layout::CONSOLE_FILE;

use super::state::{Guest, RoleFiles, SavedState};
use crate::{
    cache::Cache,
    collect::{RunFailure, excerpt},
    guest::{
        machine::{Size, names},
        slot::{collect, orders_of, size, write_slot},
    },
    hash,
    perform::{Host, Sides},
    stack::BuiltStack,
    testbed::{Attempt, Place},
};

/// What performing runs needs.
#[derive(Clone, Debug)]
pub struct Vm {
    /// Where saved states are.
    pub cache: Cache,
    /// The guest.
    pub guest: Guest,
}

impl Vm {
    /// What a run between these stacks is made with: part of its identity.
    ///
    /// # Errors
    /// Where a part cannot be read.
    pub fn versions(&self, run: &Run, sides: Sides<BuiltStack>) -> Result<Versions> {
        let size = size(run, sides)?;
        // Of the first seed, so that repetitions are made with the same versions; what differs between seeds is in the identity anyway.
        let first = Run { seed: 0, start_shift: Default::default(), ..run.clone() };
        let orders = slot::encode_orders(&orders_of(&first, sides, size.slot_bytes)?)?;
        let mut versions = Versions::from([
            ("testbed".into(), super::testbed::NAME.into()),
            // What the guest is told beyond the settings follows from this program's code: certificates, names, variables.
            ("orders".into(), hash::Hasher::default().part(&orders).short()),
            ("qemu".into(), self.guest.qemu_version.clone()),
            ("kernel".into(), self.guest.kernel.version()?),
            ("guest".into(), self.guest.identity(size)?),
            ("quiclab".into(), env!("CARGO_PKG_VERSION").into()),
        ]);
        for (role, side) in sides.different() {
            side.add_versions(role, &mut versions)?;
        }
        Ok(versions)
    }

    /// The saved state for `run`, booted where there is none; the state's folder in the cache is left alone otherwise.
    ///
    /// # Errors
    /// Where the guest does not come up.
    pub fn prepare(&self, run: &Run, sides: Sides<BuiltStack>, host: &Host, say: &mut dyn FnMut(Size)) -> Result<()> {
        let size = size(run, sides)?;
        self.guest.hold_saved_state(&self.cache, size)?;
        if !self.guest.has_saved_state(&self.cache, size)? {
            say(size);
            self.guest.saved_state(&self.cache, size, host)?;
        }
        Ok(())
    }

    /// Performs `run` and writes what happened.
    ///
    /// # Errors
    /// Where QEMU cannot be started or talked to, something cannot be written, or an interruption.
    pub fn perform(&self, run: &Run, sides: Sides<BuiltStack>, place: Place, host: &Host) -> Result<Attempt> {
        let size = size(run, sides)?;
        let state = self.guest.saved_state(&self.cache, size, host)?;
        let [slot_path, console] = [names::SLOT, names::CONSOLE].map(|name| place.work.join(name));
        let orders = orders_of(run, sides, size.slot_bytes)?;
        write_slot(&slot_path, size.slot_bytes, &slot::encode_orders(&orders)?)?;
        let [server, client] = [sides.server, sides.client]
            .map(|side| RoleFiles { root: side.stack.image.file(), stack: side.stack.file() });
        let verifying = self.cache.verify_aside(self.parts(&state, sides));
        let qemu = state.restore(&self.guest, &server, &client, place.work, host)?;
        let ended = qemu.watch(&verifying)?;
        // Before anything is said about the guest: damage explains whatever it did.
        verifying.finish()?;
        let end = ended.end;
        let keep_console = || match fs::copy(&console, place.draft.join(CONSOLE_FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).context("console"),
            _ => Ok(()),
        };
        let broken = |why: String| -> Result<Attempt> {
            let how = ended.in_words(&state.name());
            let said = format!("{how}{why}; its console says: {}", excerpt(&console, 4000));
            keep_console()?;
            Ok(Attempt { failure: Some(RunFailure::Guest(said)), seen: None, host_use: end.host_use })
        };
        let has_ended_well = end.status.code() == Some(POWER_OFF_STATUS);
        let (failure, seen) = match collect(super::testbed::NAME, run, &orders, &slot_path, has_ended_well, place)? {
            Ok(collected) => collected,
            Err(why) => return broken(why),
        };
        if failure.is_some() {
            keep_console()?;
        }
        Ok(Attempt { failure, seen: Some(seen), host_use: end.host_use })
    }
}

impl Vm {
    /// Folders of the cache whose files a run is made of.
    fn parts(&self, state: &SavedState, sides: Sides<BuiltStack>) -> Vec<PathBuf> {
        let mut parts = vec![state.folder().to_path_buf(), self.guest.kernel.folder().to_path_buf()];
        for (_, side) in sides.different() {
            parts.extend([side.stack.image.folder().to_path_buf(), side.stack.folder().to_path_buf()]);
        }
        parts.sort();
        parts.dedup();
        parts
    }
}
