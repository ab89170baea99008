//! The slot of a guest: orders go in through it, and results come out.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use anyhow::{Context, Result};
use nix::{errno::Errno, fcntl::posix_fallocate};
use quiclab_agent_protocol::{orders::Orders, slot::SlotError};
use quiclab_experiment::run::{Run, Versions};
use quiclab_record::Seen;
use quiclab_units::ByteCount;

use super::{
    disciplines::network,
    machine::{Needs, Size},
    orders,
    path::StageNames,
    results::{Results, damaged_capture},
};
use crate::{
    collect::RunFailure,
    perform::{Side, Sides},
    stack::BuiltStack,
    testbed::Place,
};

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
pub(crate) fn orders_of(run: &Run, sides: Sides<BuiltStack>, slot_bytes: u64) -> Result<Orders> {
    // Captures, the client's copy and both endpoints' logs share the slot.
    let log_limit = ByteCount::from_bytes(slot_bytes / 8);
    orders::of_run(run, network(run)?, sides.server.manifest, sides.client.manifest, log_limit)
}

/// The machine that has room for a run.
pub(crate) fn size(run: &Run, sides: Sides<BuiltStack>) -> Result<Size> {
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

/// The slot with orders in it. Its blocks are reserved, so that a full disk shows now and not as a fault of the machine.
pub(crate) fn write_slot(path: &Path, length: u64, orders: &[u8]) -> Result<()> {
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

/// Writes what a guest left in its slot into the draft of the record. Returns what kept the run from succeeding, if anything did, and what was
/// seen; or what is wrong with the results, where there are none of a guest that has ended as it should.
///
/// # Errors
/// Where something cannot be read or written.
pub(crate) fn collect(
    testbed: &str,
    run: &Run,
    orders: &Orders,
    slot: &Path,
    has_ended_well: bool,
    place: Place,
) -> Result<Result<(Option<RunFailure>, Seen), String>> {
    let names = StageNames::of(&run.settings).map_err(anyhow::Error::msg)?;
    let opened =
        File::open(slot).map_err(SlotError::from).and_then(|slot| Results::open(testbed, slot, orders, &names));
    let mut results = match opened {
        Ok(results) if has_ended_well => results,
        other => return Ok(Err(other.err().map(|error| format!("; {error}")).unwrap_or_default())),
    };
    let collected =
        results.failure(run).and_then(|failure| results.write_what_happened(place.draft, run).map(|()| failure));
    match collected {
        Ok(failure) => Ok(Ok((failure, Seen::Transfer(Box::new(results.observed().clone()))))),
        Err(error) => match damaged_capture(&error) {
            Some(why) => Ok(Err(format!("; {why}"))),
            None => Err(error),
        },
    }
}
