//! Mounts in this process's own mount namespace.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use nix::{
    errno::Errno,
    mount::{MsFlags, mount},
};

/// Flag of move_mount(2), from linux/mount.h.
pub const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;

/// Mounts a new file system, at a folder that is made if it is not there.
///
/// # Errors
/// Where it cannot be mounted.
pub fn mount_new(kind: &str, source: &str, target: &Path, flags: MsFlags, options: &str) -> Result<()> {
    fs::create_dir_all(target).with_context(|| target.display().to_string())?;
    mount(Some(source), target, Some(kind), flags, Some(options))
        .with_context(|| format!("mounting {source} at {}", target.display()))
}

/// Binds a folder and all that is mounted below it, at a folder that is made if it is not there.
///
/// # Errors
/// Where it cannot be mounted.
pub fn bind(source: &Path, target: &Path) -> Result<()> {
    fs::create_dir_all(target).with_context(|| target.display().to_string())?;
    mount(Some(source), target, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)
        .with_context(|| format!("binding {} to {}", source.display(), target.display()))
}

/// Binds a file or a device to a new file.
///
/// # Errors
/// Where it cannot be made or mounted.
pub fn bind_file(source: &Path, target: &Path) -> Result<()> {
    fs::File::create(target).with_context(|| target.display().to_string())?;
    mount(Some(source), target, None::<&str>, MsFlags::MS_BIND, None::<&str>)
        .with_context(|| format!("binding {} to {}", source.display(), target.display()))
}

/// Makes a mount read-only, but not those below it.
///
/// # Errors
/// Where the kernel refuses it.
pub fn make_read_only(target: &Path) -> Result<()> {
    set_attributes(target, 0, libc::MOUNT_ATTR_RDONLY)
}

/// Sets attributes of a mount, and of those below it where `flags` are `AT_RECURSIVE`.
///
/// # Errors
/// Where the kernel refuses it.
pub fn set_attributes(target: &Path, flags: libc::c_int, attributes: u64) -> Result<()> {
    let path = std::ffi::CString::new(target.as_os_str().as_encoded_bytes())?;
    let attributes = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the path and the attributes live as long as the call, and the size is that of the attributes.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of_val(&attributes),
        )
    };
    Errno::result(result).with_context(|| format!("{}: limiting what can be done there", target.display()))?;
    Ok(())
}
