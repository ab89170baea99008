//! A guest: its files, and the command line that starts it.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result};
use quiclab_experiment::run::{Cpu, Run};
use quiclab_sandbox::Program;

use super::{processor::charge, run::Uml};
use crate::{
    certificates::GUEST_EPOCH_SECONDS,
    contract::derive,
    guest::{
        initramfs,
        machine::{Size, link, names},
    },
    perform::Sides,
    sandbox::{Sandbox, VisibleFiles},
    stack::BuiltStack,
};

/// What does not depend on a run. `inf-cpu`: computing takes no time.
const ARGUMENTS: &[&str] = &[
    "time-travel=inf-cpu",
    "seccomp=on",
    "initrd=initramfs",
    // Never used; without one the kernel adds its own behind the arguments of the agent.
    "root=/dev/ram0",
    "ubd0=slot",
    "ubd1r=server-root",
    "ubd2r=server-stack",
    "ubd3r=client-root",
    "ubd4r=client-stack",
    // The console is a file, which never makes the guest wait.
    "con=null",
    "con0=null,fd:1",
    "console=tty0",
    "quiet",
    "noreboot",
    "panic=1",
];

/// Everything about the command line that a run's identity depends on, but its seed.
pub(super) fn identity(size: Size, cpu: Cpu) -> String {
    format!("{} mem={}M {}", ARGUMENTS.join(" "), size.memory_mib, charge_argument(cpu).unwrap_or_default())
}

/// See `kernel/uml/charge.patch`.
fn charge_argument(cpu: Cpu) -> Option<String> {
    charge(cpu).map(|(call_ns, byte_ps)| format!("cpu-charge={call_ns},{byte_ps}"))
}

/// Puts the files of a guest into `folder`, which has the slot already, and returns the command that boots it there, and the sandbox for it.
///
/// # Errors
/// Where a file cannot be read or made.
pub(super) fn command(
    uml: &Uml,
    run: &Run,
    sides: Sides<BuiltStack>,
    size: Size,
    folder: &Path,
) -> Result<(Command, Sandbox)> {
    let image = uml.kernel.image();
    let image = fs::canonicalize(&image).with_context(|| image.display().to_string())?;
    let mut readable = vec![image.clone()];
    for (side, root, stack) in [
        (sides.server, names::SERVER_ROOT, names::SERVER_STACK),
        (sides.client, names::CLIENT_ROOT, names::CLIENT_STACK),
    ] {
        for (file, name) in [(side.stack.image.file(), root), (side.stack.file(), stack)] {
            // The sandbox shows files where they are, and not where links lead to.
            let file = fs::canonicalize(&file).with_context(|| file.display().to_string())?;
            link(&file, folder, name)?;
            readable.push(file);
        }
    }
    initramfs::write(&uml.agent, &uml.kernel, &folder.join(names::INITRAMFS))?;
    let console = File::create(folder.join(names::CONSOLE)).context(names::CONSOLE)?;
    let mut command = Command::new(image);
    command.args(ARGUMENTS).args(charge_argument(run.settings.hosts.cpu));
    command.arg(format!("time-travel-start={}", GUEST_EPOCH_SECONDS * 1_000_000_000));
    command.arg(format!("rng-seed={}", boot_seed(run.seed)));
    command.arg(format!("mem={}M", size.memory_mib));
    // What follows is for the agent.
    command.args(["--", "init"]);
    // A constant environment: it is on the stack of the kernel.
    command.env_clear().env("HOME", ".").env("TMPDIR", ".").current_dir(folder);
    command.stdin(Stdio::null()).stdout(console.try_clone()?).stderr(console);
    readable.dedup();
    Ok((command, sandbox(folder, readable, size)?))
}

/// Lets the guest have its own folder, what it boots from, and nothing else. Its programs run on this machine's processor, and only its kernel
/// stands between them and the machine.
fn sandbox(folder: &Path, readable: Vec<PathBuf>, size: Size) -> Result<Sandbox> {
    // Its memory is a file, and so are its console and the slot.
    let file_bytes = size.slot_bytes.max(size.memory_mib << 20);
    let visible = VisibleFiles { readable, own: folder.to_owned(), file_bytes, program: Program::UserModeLinux };
    Sandbox::create(&visible).context("the sandbox of a guest")
}

/// Seed of all that the kernel draws before the agent seeds its pool.
fn boot_seed(seed: u64) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&derive(seed, "boot")[..8]);
    u64::from_le_bytes(bytes)
}
