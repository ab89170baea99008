//! Performs one run: restore, orders in, results out.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use nix::{errno::Errno, fcntl::posix_fallocate};
use quiclab_agent_protocol::{
    orders::Orders,
    slot::{self, POWER_OFF_STATUS, SlotError},
};
use quiclab_experiment::run::{Run, Versions};
use quiclab_record::{Seen, layout::CONSOLE_FILE};
use quiclab_units::ByteCount;

use super::{
    disciplines::network,
    machine::{Needs, Size, names},
    orders,
    path::StageNames,
    results::{Results, damaged_capture},
    state::{Guest, RoleFiles, SavedState},
};
use crate::{
    cache::Cache,
    collect::{RunFailure, excerpt},
    hash,
    perform::{Host, Side, Sides},
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
        let orders = slot::encode_orders(&orders_of(&first, sides, size)?)?;
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
        let orders = orders_of(run, sides, size)?;
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
        let names = StageNames::of(&run.settings).map_err(anyhow::Error::msg)?;
        let broken = |why: String| -> Result<Attempt> {
            let how = ended.in_words(&state.name());
            let said = format!("{how}{why}; its console says: {}", excerpt(&console, 4000));
            keep_console()?;
            Ok(Attempt { failure: Some(RunFailure::Guest(said)), seen: None, host_use: end.host_use })
        };
        let opened = File::open(&slot_path)
            .map_err(SlotError::from)
            .and_then(|slot| Results::open(super::testbed::NAME, slot, &orders, &names));
        let mut results = match opened {
            Ok(results) if end.status.code() == Some(POWER_OFF_STATUS) => results,
            other => return broken(other.err().map(|error| format!("; {error}")).unwrap_or_default()),
        };
        let collected =
            results.failure(run).and_then(|failure| results.write_what_happened(place.draft, run).map(|()| failure));
        let failure = match collected {
            Ok(failure) => failure,
            Err(error) => match damaged_capture(&error) {
                Some(why) => return broken(format!("; {why}")),
                None => return Err(error),
            },
        };
        if failure.is_some() {
            keep_console()?;
        }
        Ok(Attempt {
            failure,
            seen: Some(Seen::Transfer(Box::new(results.observed().clone()))),
            host_use: end.host_use,
        })
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

impl Side<'_, BuiltStack> {
    /// Adds what the stack in this role is made of.
    ///
    /// # Errors
    /// Where a part cannot be read.
    pub(crate) fn add_versions(&self, role: &str, versions: &mut Versions) -> Result<()> {
        let Self { manifest, stack } = self;
        let mut add = |what: &str, value: String| versions.insert(format!("{role}.{what}"), value);
        add("files", stack.digest()?);
        add("root", stack.image.digest()?);
        add("version", manifest.version.clone());
        add("build_profile", manifest.build.profile.clone());
        for package in &manifest.guest.packages {
            let version = stack.image.package_version(package)?;
            let version = version.with_context(|| format!("the root of {} has no package {package}", manifest.name))?;
            add(&format!("package.{package}"), version);
        }
        Ok(())
    }
}

/// What the agent is told to do.
fn orders_of(run: &Run, sides: Sides<BuiltStack>, size: Size) -> Result<Orders> {
    // Captures, the client's copy and both endpoints' logs share the slot.
    let log_limit = ByteCount::from_bytes(size.slot_bytes / 8);
    orders::of_run(run, network(run)?, sides.server.manifest, sides.client.manifest, log_limit)
}

/// The machine that has room for a run.
fn size(run: &Run, sides: Sides<BuiltStack>) -> Result<Size> {
    let Sides { server, client } = sides;
    let memory = |side: Side<BuiltStack>| side.manifest.guest.memory.map_or(0, ByteCount::as_bytes);
    let [server_root, client_root] = [server.stack.image.length()?, client.stack.image.length()?];
    Size::for_needs(Needs {
        transfer: run.settings.tap_room(),
        memory: ByteCount::from_bytes(memory(server) + memory(client)),
        root: server_root.max(client_root),
        instruction_shift: run.settings.vm.nanoseconds_per_instruction.ilog2(),
    })
}

/// The slot with orders in it. Its blocks are reserved, so that a full disk shows now and not as a fault in QEMU.
fn write_slot(path: &Path, length: u64, orders: &[u8]) -> Result<()> {
    let mut file = File::create(path).with_context(|| path.display().to_string())?;
    posix_fallocate(&file, 0, length as i64).map_err(|why| {
        let hint = match why {
            Errno::ENOSPC => "\nhint: free some space, or use --out to move to another disk",
            _ => "",
        };
        anyhow::Error::new(io::Error::from(why)).context(format!("{}: reserving {length} bytes{hint}", path.display()))
    })?;
    file.write_all(orders).with_context(|| path.display().to_string())
}
