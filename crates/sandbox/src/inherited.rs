//! What a program inherits besides its memory: descriptors and keyrings.

use std::io;

/// The first descriptor behind standard input, output and error.
const FIRST: libc::c_uint = 3;

/// Joins a new, empty session keyring, and lets every descriptor but the first three close when a program is executed. Whatever the
/// invoker's shell, its parents or quiclab itself hold open stays there.
///
/// The keyrings of the user and of the session that was left cannot be reached through system calls that [`Filter`](crate::Filter)
/// refuses: `add_key`, `request_key` and `keyctl`. Makes system calls only, so it may be called between fork and exec.
///
/// # Errors
/// Where the kernel refuses it: before Linux 5.11 there is no `CLOSE_RANGE_CLOEXEC`. A kernel without keyrings is no error.
pub fn inherit_nothing() -> io::Result<()> {
    // SAFETY: plain system calls without pointers to memory.
    unsafe {
        if libc::syscall(libc::SYS_keyctl, libc::KEYCTL_JOIN_SESSION_KEYRING, 0) < 0 && !has_no_keyrings() {
            return Err(io::Error::last_os_error());
        }
        if libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Whether the last error says that there are no keyrings here, or that a sandbox round quiclab refuses them, as those of containers do.
/// The user's quota of keys can be used up, too: then the old keyring stays, which the filter alone keeps from the program.
fn has_no_keyrings() -> bool {
    let error = io::Error::last_os_error().raw_os_error();
    [libc::ENOSYS, libc::EPERM, libc::EDQUOT].map(Some).contains(&error)
}
