//! The end of a process that was started here: that it ends, how it ended, and what it used.

use std::{
    io,
    os::unix::process::ExitStatusExt,
    process::{Child, ExitStatus},
};

use crate::perform::HostUse;

/// How a process ended.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Its exit status.
    pub status: ExitStatus,
    /// What it used.
    pub host_use: HostUse,
}

/// Waits for the end of a child that was not waited for yet; with `WNOHANG` among the `options` of wait4(2), `None` where it has not ended.
///
/// # Errors
/// What the kernel answers.
pub(crate) fn reap(child: &Child, options: i32) -> io::Result<Option<End>> {
    let mut status = 0;
    // wait4 tells what the child used; nix has waitpid alone, which does not.
    // SAFETY: all zeros is a valid value of this plain struct.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live values; the child is ours and not yet reaped.
    let result = unsafe { libc::wait4(child.id() as i32, &raw mut status, options, &raw mut used) };
    if result <= 0 {
        return if result == 0 { Ok(None) } else { Err(io::Error::last_os_error()) };
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let host_use = HostUse {
        cpu_seconds: seconds(used.ru_utime) + seconds(used.ru_stime),
        resident_bytes: used.ru_maxrss as u64 * 1024,
    };
    Ok(Some(End { status: ExitStatus::from_raw(status), host_use }))
}

/// An exit status in words, with what a signal probably means.
pub fn describe(status: ExitStatus) -> String {
    match status.signal() {
        Some(libc::SIGBUS) => "killed by SIGBUS: the disk is probably full\nhint: free some space, or use --out and \
                               QUICLAB_CACHE to move to another disk"
            .to_owned(),
        Some(signal) => format!("killed by signal {signal}"),
        None => format!("ended with {status}"),
    }
}
