//! The devices that endpoints on a host may use: those that belong to no hardware and hold no state.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::Path,
};

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount};

use super::roots::make_read_only;
use crate::root::mount_new;

/// Devices that are taken from the host, where it has them.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const LINKS: [(&str, &str); 4] = [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")];

/// Mounts a folder of devices at `target`, with those of the folder `host` that everyone may use and an empty folder `shm`.
///
/// # Errors
/// Where something cannot be made or mounted.
pub fn mount_devices(host: &Path, target: &Path) -> Result<()> {
    mount_new("tmpfs", "dev", target, MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC, "mode=755")?;
    for name in DEVICES {
        let (from, to) = (host.join(name), target.join(name));
        if !from.exists() {
            continue;
        }
        File::create(&to).with_context(|| to.display().to_string())?;
        mount(Some(&from), &to, None::<&str>, MsFlags::MS_BIND, None::<&str>)
            .with_context(|| format!("binding {} to {}", from.display(), to.display()))?;
    }
    for (name, place) in LINKS {
        symlink(place, target.join(name)).with_context(|| format!("{}/{name}", target.display()))?;
    }
    let shared_memory = target.join("shm");
    fs::create_dir(&shared_memory).with_context(|| shared_memory.display().to_string())?;
    make_read_only(target)
}
