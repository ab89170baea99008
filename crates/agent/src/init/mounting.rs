//! Mounts images whose files belong to the users of an endpoint.
//!
//! The numbers of users in an image are those inside of the endpoint's user namespace. The kernel maps them when the image is mounted:
//! mount_setattr(2), `MOUNT_ATTR_IDMAP`. Not yet part of any tree of mounts is the only state in which it does so.

use std::{
    ffi::{CStr, CString},
    fs, io,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    path::Path,
};

use anyhow::{Context, Result};
use nix::errno::Errno;

use quiclab_sandbox::mounts::MOVE_MOUNT_F_EMPTY_PATH;

/// Commands of fsconfig(2), from linux/mount.h.
const FSCONFIG_SET_FLAG: libc::c_uint = 0;
const FSCONFIG_SET_STRING: libc::c_uint = 1;
const FSCONFIG_CMD_CREATE: libc::c_uint = 6;

/// Mounts the erofs on the block device `device` at `target`, which is made if it is not there, for reading. Its files belong to the users
/// of `user_namespace`.
///
/// # Errors
/// Where there is none, or the kernel cannot map users of erofs: Linux 5.19 and later can.
pub fn mount_image(device: &str, target: &Path, user_namespace: BorrowedFd) -> Result<()> {
    fs::create_dir_all(target).with_context(|| target.display().to_string())?;
    attach(device, target, user_namespace).with_context(|| format!("mounting {device} at {}", target.display()))
}

fn attach(device: &str, target: &Path, user_namespace: BorrowedFd) -> Result<()> {
    let device = CString::new(device)?;
    let target = CString::new(target.as_os_str().as_encoded_bytes())?;
    let context = open_context(c"erofs").context("fsopen")?;
    configure(&context, FSCONFIG_SET_STRING, Some(c"source"), Some(&device)).context("the source")?;
    configure(&context, FSCONFIG_SET_FLAG, Some(c"ro"), None).context("read-only")?;
    configure(&context, FSCONFIG_CMD_CREATE, None, None).context("reading the file system")?;
    let attributes = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV;
    // SAFETY: plain system call; the descriptor that it answers is new and ours.
    let mount = unsafe { owned(libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), 1, attributes)) };
    let mount = mount.context("fsmount")?;
    let users = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_IDMAP,
        attr_clr: 0,
        propagation: 0,
        userns_fd: user_namespace.as_raw_fd() as u64,
    };
    // SAFETY: the attributes live as long as the call, and the size is theirs; the path is empty.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const users,
            size_of_val(&users),
        )
    };
    Errno::result(result).context("mapping its users")?;
    // SAFETY: plain system call on paths that outlive it.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            target.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    Errno::result(result).context("move_mount")?;
    Ok(())
}

fn open_context(kind: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: plain system call on a string that outlives it; the descriptor that it answers is new and ours.
    unsafe { owned(libc::syscall(libc::SYS_fsopen, kind.as_ptr(), 1)) }
}

fn configure(context: &OwnedFd, command: libc::c_uint, key: Option<&CStr>, value: Option<&CStr>) -> io::Result<()> {
    let pointer = |text: Option<&CStr>| text.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: plain system call on strings that outlive it.
    let result =
        unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), command, pointer(key), pointer(value), 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// # Safety
/// The number is that of a new descriptor, or negative.
unsafe fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as the caller promises.
    Ok(unsafe { OwnedFd::from_raw_fd(result as i32) })
}
