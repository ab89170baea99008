//! The devices that endpoints may use: those that belong to no hardware and hold no state.

use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::Path,
};

use anyhow::{Context, Result};
use nix::{
    mount::MsFlags,
    sys::stat::{Mode, SFlag, mknod},
};

use crate::mounts::{bind_file, make_read_only, mount_new};

/// Devices that are taken from the machine, where it has them.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
const LINKS: [(&str, &str); 4] = [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")];

/// Mounts a folder of devices at `target`, with those of the folder `machine` that everyone may use and an empty folder `shm`.
///
/// # Errors
/// Where something cannot be made or mounted.
pub fn mount_devices(machine: &Path, target: &Path) -> Result<()> {
    mount_new("tmpfs", "dev", target, MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC, "mode=755")?;
    for name in DEVICES {
        let (from, to) = (machine.join(name), target.join(name));
        if !from.exists() {
            continue;
        }
        let facts = fs::metadata(&from).with_context(|| from.display().to_string())?;
        if mknod(&to, SFlag::S_IFCHR, Mode::empty(), facts.rdev()).is_ok() {
            fs::set_permissions(&to, facts.permissions()).with_context(|| to.display().to_string())?;
            continue;
        }
        // Only root outside of all user namespaces can make devices.
        bind_file(&from, &to)?;
    }
    for (name, place) in LINKS {
        symlink(place, target.join(name)).with_context(|| format!("{}/{name}", target.display()))?;
    }
    let shared_memory = target.join("shm");
    fs::create_dir(&shared_memory).with_context(|| shared_memory.display().to_string())?;
    make_read_only(target)
}
