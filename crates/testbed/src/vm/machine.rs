//! The virtual machine: its size, and the QEMU command line that makes it.

use std::{
    os::unix::fs::symlink,
    path::{self, Path},
    process::Command,
};

use anyhow::{Context, Result, bail};
use quiclab_units::ByteCount;

use super::image::LARGEST_ROOT_BYTES;
use crate::{certificates::GUEST_EPOCH_SECONDS, command, stack::STACK_BYTES};

/// The emulator.
pub const QEMU: &str = "qemu-system-x86_64";
/// The Debian package that has it.
pub const QEMU_PACKAGE: &str = "qemu-system-x86";
/// The oldest version on which saving and restoring was seen to be exact.
const OLDEST_QEMU: (u32, u32) = (7, 2);
/// Most NVDIMMs for roots fit this: a few hundred MiB of Debian. The kernel keeps 1/64 of the length in memory for each.
const USUAL_ROOT_BYTES: u64 = 512 << 20;

/// Number of the guest's CPUs. With two, QEMU 7.2 hands over from one to the other at moments that depend on the host: one in fifteen
/// runs differed, and none was faster.
const VIRTUAL_CPUS: &str = "1";
/// Room for translated code, in MiB. A run needs less than 100; running over would translate everything anew.
const TRANSLATION_CACHE_MIB: u32 = 256;
/// What follows `--` are the arguments of the agent.
const KERNEL_COMMAND_LINE: &str = "nokaslr tsc=reliable random.trust_cpu=1 quiet panic=1 console=ttyS0 mitigations=off rcupdate.rcu_expedited=1 -- init";

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

/// Names of a machine's files in the folder that QEMU works in. Elsewhere their names can be anything: commas, quotes and bytes that are
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

/// Puts a link to `file` into the folder that QEMU works in.
///
/// # Errors
/// Where it cannot be made.
pub fn link(file: &Path, folder: &Path, name: &str) -> Result<()> {
    let link = folder.join(name);
    let file = path::absolute(file).with_context(|| file.display().to_string())?;
    symlink(&file, &link).with_context(|| format!("{}: linking to {}", link.display(), file.display()))
}

/// Everything about the machine that a saved state depends on, apart from its files.
pub fn identity(size: Size) -> String {
    arguments(size).join(" ")
}

/// QEMU, ready to be started in `folder`, which has its files under their [`names`]; it talks QMP on its standard input and output.
pub fn qemu(size: Size, folder: &Path) -> Command {
    let mut command = Command::new(QEMU);
    command.args(arguments(size)).current_dir(folder);
    command
}

/// Version of the QEMU on this machine. Virtual times differ slightly between versions.
///
/// # Errors
/// Where there is none, or an older one than [`OLDEST_QEMU`].
pub fn qemu_version() -> Result<String> {
    let version = command::version(QEMU, QEMU_PACKAGE)?;
    match major_and_minor(&version) {
        Some(found) if found >= OLDEST_QEMU => Ok(version),
        _ => bail!(
            "{QEMU}: found {version:?}, expected version {}.{} or later\nhint: apt-get install {QEMU_PACKAGE} on Debian 12 or \
             later",
            OLDEST_QEMU.0,
            OLDEST_QEMU.1
        ),
    }
}

/// Version in a line such as `QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)`.
fn major_and_minor(line: &str) -> Option<(u32, u32)> {
    let mut numbers = line.split_once("version ")?.1.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn arguments(size: Size) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
    add(&["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-nic", "none"]);
    add(&["-machine", "pc,nvdimm=on,usb=off", "-cpu", "max,-rdrand,-rdseed", "-smp", VIRTUAL_CPUS]);
    add(&["-accel", &format!("tcg,thread=single,tb-size={TRANSLATION_CACHE_MIB}")]);
    add(&["-icount", &format!("shift={},sleep=off", size.instruction_shift)]);
    add(&["-rtc", &format!("base={GUEST_EPOCH_SECONDS_AS_DATE},clock=vm")]);
    add(&["-m", &format!("{}M,slots=5,maxmem=32G", size.memory_mib)]);
    for (name, length, writable) in [
        (names::SLOT, size.slot_bytes, true),
        (names::SERVER_ROOT, size.root_bytes, false),
        (names::SERVER_STACK, STACK_BYTES, false),
        (names::CLIENT_ROOT, size.root_bytes, false),
        (names::CLIENT_STACK, STACK_BYTES, false),
    ] {
        let [read_only, unarmed] = if writable { ["off", "off"] } else { ["on", "on"] };
        add(&[
            "-object",
            &format!("memory-backend-file,id={name},share=on,readonly={read_only},size={length},mem-path={name}"),
        ]);
        add(&["-device", &format!("nvdimm,id={name}-dimm,memdev={name},unarmed={unarmed}")]);
    }
    add(&["-device", "pvpanic", "-action", "panic=pause", "-device", "isa-debug-exit,iobase=0xf4,iosize=1"]);
    add(&["-kernel", names::KERNEL, "-initrd", names::INITRAMFS]);
    add(&["-append", KERNEL_COMMAND_LINE]);
    add(&["-serial", &format!("file:{}", names::CONSOLE), "-qmp", "stdio"]);
    arguments
}

/// [`GUEST_EPOCH_SECONDS`] as QEMU wants it.
const GUEST_EPOCH_SECONDS_AS_DATE: &str = "2026-01-01";
const _: () = assert!(GUEST_EPOCH_SECONDS == 1_767_225_600, "both say the same instant");

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

    #[test]
    fn a_version_is_read_from_what_qemu_prints() {
        assert_eq!(major_and_minor("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)"), Some((7, 2)));
        assert_eq!(major_and_minor("QEMU emulator version 10.0.2"), Some((10, 0)));
        assert_eq!(major_and_minor("something else"), None);
    }

    #[test]
    fn time_is_counted_in_instructions_and_nothing_random_comes_from_outside() {
        let identity = identity(Size::for_needs(Needs::default()).unwrap());
        for needed in ["-icount shift=0,sleep=off", "-rdrand", "-rdseed", "clock=vm", "-nic none"] {
            assert!(identity.contains(needed), "{needed}");
        }
    }
}
