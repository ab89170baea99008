//! The virtual machine: the QEMU command line that makes it.

use std::{path::Path, process::Command};

use anyhow::{Result, bail};

use crate::{
    certificates::GUEST_EPOCH_SECONDS,
    command,
    guest::machine::{Size, names},
    stack::STACK_BYTES,
};

/// The emulator.
pub const QEMU: &str = "qemu-system-x86_64";
/// The Debian package that has it.
pub const QEMU_PACKAGE: &str = "qemu-system-x86";
/// The oldest version on which saving and restoring was seen to be exact.
const OLDEST_QEMU: (u32, u32) = (7, 2);

/// Number of the guest's CPUs. With two, QEMU 7.2 hands over from one to the other at moments that depend on the host: one in fifteen
/// runs differed, and none was faster.
const VIRTUAL_CPUS: &str = "1";
/// Room for translated code, in MiB. A run needs less than 100; running over would translate everything anew.
const TRANSLATION_CACHE_MIB: u32 = 256;
/// What follows `--` are the arguments of the agent.
const KERNEL_COMMAND_LINE: &str = "nokaslr tsc=reliable random.trust_cpu=1 quiet panic=1 console=ttyS0 mitigations=off rcupdate.rcu_expedited=1 -- init";

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
    use crate::guest::machine::Needs;

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
