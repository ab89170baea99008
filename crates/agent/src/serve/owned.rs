//! Files of the host, read-only, as files of an endpoint's users: where the host's root is the agent, an endpoint's root is another user,
//! whose processes can be counted, and files of the host's root belong to it inside.

use std::{
    ffi::CString,
    fs,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    path::Path,
};

use anyhow::{Context, Result};
use nix::errno::Errno;

use quiclab_sandbox::mounts::MOVE_MOUNT_F_EMPTY_PATH;

/// What nobody can do there. Writing to a device does not change the file system it is on, so read-only is not enough.
const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV;

/// Binds a folder and all that is mounted below it, for reading, with its users mapped by `users` if there are any. A file system that
/// maps no users shows them as they are.
///
/// # Errors
/// What the kernel answers.
pub(super) fn bind_read_only(source: &Path, target: &Path, users: Option<BorrowedFd>) -> Result<()> {
    fs::create_dir_all(target).with_context(|| target.display().to_string())?;
    let bound = || -> Result<()> {
        let tree = copy_of(source)?;
        set_attributes(&tree, READ_ONLY, None).context("limiting what can be done there")?;
        match users.map(|users| set_attributes(&tree, libc::MOUNT_ATTR_IDMAP, Some(users))) {
            // What cannot be mapped stays what it is, and is still there to read for everybody who may.
            None | Some(Ok(()) | Err(Errno::EINVAL | Errno::EPERM)) => {}
            Some(Err(error)) => return Err(error).context("mapping its users"),
        }
        attach(&tree, target)
    };
    bound().with_context(|| format!("binding {} to {}", source.display(), target.display()))
}

/// A copy of the mounts at and below a folder, that is part of no tree of mounts yet: only then can its users be mapped.
fn copy_of(source: &Path) -> Result<OwnedFd> {
    let source = CString::new(source.as_os_str().as_encoded_bytes())?;
    let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC | libc::AT_RECURSIVE as u32;
    // SAFETY: plain system call on a string that outlives it.
    let tree = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, source.as_ptr(), flags) };
    let tree = Errno::result(tree).context("open_tree")?;
    // SAFETY: the descriptor is new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(tree as i32) })
}

fn set_attributes(tree: &OwnedFd, attributes: u64, users: Option<BorrowedFd>) -> Result<(), Errno> {
    let userns_fd = users.map_or(0, |users| users.as_raw_fd() as u64);
    let attributes = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd };
    // SAFETY: the attributes live as long as the call, and the size is theirs; the path is empty.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const attributes,
            size_of_val(&attributes),
        )
    };
    Errno::result(result).map(drop)
}

fn attach(tree: &OwnedFd, target: &Path) -> Result<()> {
    let target = CString::new(target.as_os_str().as_encoded_bytes())?;
    let (empty, here) = (c"".as_ptr(), libc::AT_FDCWD);
    // SAFETY: plain system call on strings that outlive it.
    let moved = unsafe {
        libc::syscall(libc::SYS_move_mount, tree.as_raw_fd(), empty, here, target.as_ptr(), MOVE_MOUNT_F_EMPTY_PATH)
    };
    Errno::result(moved).context("move_mount").map(drop)
}
