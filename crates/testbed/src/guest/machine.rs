//! A guest's size, and the files that it is made of.

use std::{
    os::unix::fs::symlink,
    path::{self, Path},
};

use anyhow::{Context, Result, bail};
use quiclab_units::ByteCount;

use crate::image::LARGEST_ROOT_BYTES;

/// Most NVDIMMs for roots fit this: a few hundred MiB of Debian. The kernel keeps 1/64 of the length in memory for each.
const USUAL_ROOT_BYTES: u64 = 512 << 20;

/// How large and how fast a guest is. Both are part of a saved state, so there are few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Main memory in MiB: both copies of the files, the capture rings, and what the endpoints need.
    pub memory_mib: u64,
    /// Bytes of the slot: what the taps saw, and the client's copy.
    pub slot_bytes: u64,
    /// Bytes of each root file system.
    pub root_bytes: u64,
    /// Binary logarithm of the nanoseconds that an instruction takes.
    pub instruction_shift: u32,
}

/// What a guest must have room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Everything that is transferred.
    pub transfer: ByteCount,
    /// Memory of the endpoints, beyond that of plain programs.
    pub memory: ByteCount,
    /// The larger of the two root file systems.
    pub root: ByteCount,
    /// Binary logarithm of the nanoseconds that an instruction is to take.
    pub instruction_shift: u32,
}

/// Memory in MiB, bytes of the slot, and the largest transfer that fits beside plain programs.
const SIZES: &[(u64, u64, u64)] =
    &[(512, 128 << 20, 24 << 20), (1024, 512 << 20, 128 << 20), (3072, 2 << 30, 512 << 20), (6144, 2 << 30, 512 << 20)];

impl Size {
    /// The smallest machine that has room for `needs`.
    ///
    /// # Errors
    /// Where none is large enough.
    pub fn for_needs(needs: Needs) -> Result<Self> {
        let transfer = needs.transfer.as_bytes();
        let Some(plain) = SIZES.iter().find(|(_, _, largest)| transfer <= *largest) else {
            let largest = SIZES.iter().map(|(_, _, largest)| *largest).max().unwrap_or(0);
            bail!(
                "workload.size, tap.room: found {} in total, expected at most {} on the vm testbed, which keeps all \
                 packets in memory",
                needs.transfer,
                ByteCount::from_bytes(largest)
            );
        };
        let memory = plain.0 + needs.memory.as_bytes().div_ceil(1 << 20);
        let Some(machine) = SIZES.iter().find(|(mib, slot, _)| *mib >= memory && *slot >= plain.1) else {
            let largest = SIZES.iter().map(|(mib, ..)| *mib).max().unwrap_or(0);
            bail!("guest.memory: found {} for both endpoints, expected less than {largest} MiB", needs.memory);
        };
        let root_bytes = if needs.root.as_bytes() <= USUAL_ROOT_BYTES { USUAL_ROOT_BYTES } else { LARGEST_ROOT_BYTES };
        if needs.root.as_bytes() > LARGEST_ROOT_BYTES {
            bail!(
                "found a root file system of {}, expected at most {}",
                needs.root,
                ByteCount::from_bytes(LARGEST_ROOT_BYTES)
            );
        }
        let instruction_shift = needs.instruction_shift;
        Ok(Self { memory_mib: machine.0, slot_bytes: machine.1, root_bytes, instruction_shift })
    }
}

/// Names of a guest's files in the folder that QEMU or the kernel works in. Elsewhere their names can be anything: commas, quotes and bytes that are
/// not UTF-8 mean something else in QEMU's options and commands, or cannot be written there.
pub mod names {
    /// The kernel.
    pub const KERNEL: &str = "kernel";
    /// Its first file system.
    pub const INITRAMFS: &str = "initramfs";
    /// What is restored.
    pub const STATE: &str = "state";
    /// The server's root file system, never written to.
    pub const SERVER_ROOT: &str = "server-root";
    /// The files of the server's stack, never written to.
    pub const SERVER_STACK: &str = "server-stack";
    /// The client's root file system, never written to.
    pub const CLIENT_ROOT: &str = "client-root";
    /// The files of the client's stack, never written to.
    pub const CLIENT_STACK: &str = "client-stack";
    /// Orders and results.
    pub const SLOT: &str = "slot";
    /// What the guest prints on its console.
    pub const CONSOLE: &str = "console";
}

/// Puts a link to `file` into the folder of a guest.
///
/// # Errors
/// Where it cannot be made.
pub fn link(file: &Path, folder: &Path, name: &str) -> Result<()> {
    let link = folder.join(name);
    let file = path::absolute(file).with_context(|| file.display().to_string())?;
    symlink(&file, &link).with_context(|| format!("{}: linking to {}", link.display(), file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_machine_that_fits_is_taken() {
        let of = |transfer, memory, root| {
            let [transfer, memory, root] = [transfer, memory, root].map(ByteCount::from_bytes);
            Size::for_needs(Needs { transfer, memory, root, instruction_shift: 0 })
                .map(|machine| (machine.memory_mib, machine.root_bytes))
                .ok()
        };
        let usual = USUAL_ROOT_BYTES;
        assert_eq!(of(24 << 20, 0, 0), Some((512, usual)));
        assert_eq!(of((24 << 20) + 1, 0, usual), Some((1024, usual)));
        assert_eq!(of(512 << 20, 0, usual + 1), Some((3072, LARGEST_ROOT_BYTES)));
        assert_eq!(of((512 << 20) + 1, 0, 0), None);
        assert_eq!(of(1, 512 << 20, 0), Some((1024, usual)));
        assert_eq!(of(1, (512 << 20) + 1, 0), Some((3072, usual)));
        assert_eq!(of(512 << 20, 3072 << 20, 0), Some((6144, usual)));
        assert_eq!(of(512 << 20, (3072 << 20) + 1, 0), None);
        assert_eq!(of(1, 0, LARGEST_ROOT_BYTES + 1), None);
    }
}
