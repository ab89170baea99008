//! Ends of processes and of waiting.

use std::{
    fs::{File, TryLockError},
    io,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use anyhow::Result;
use nix::{
    errno::Errno,
    sys::{prctl::set_pdeathsig, signal::Signal},
    unistd::getppid,
};

/// How often a lock that another process holds is tried.
pub const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// Why waiting ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Interrupted {
    /// Somebody asked for it, by a signal.
    #[error("interrupted")]
    ByRequest,
    /// The host's own patience.
    #[error("not finished after {0:?} of real time, so it was stopped\nhint: raise --wall-timeout")]
    ByDeadline(Duration),
}

/// This process is sent `signal` when the thread that started it ends, in any way. `parent` is the process of that thread, by [`std::process::id`]
/// before the fork. Can be called between fork and exec.
///
/// # Errors
/// Where the parent has ended already, which would send nothing any more, and what the kernel answers.
pub fn end_with_parent(parent: u32, signal: Signal) -> io::Result<()> {
    set_pdeathsig(signal)?;
    if getppid().as_raw() as u32 == parent { Ok(()) } else { Err(Errno::ESRCH.into()) }
}

/// Locks a file, and waits while another process has it.
///
/// # Errors
/// What the file system answers, and [`Interrupted`] where `stop` is set meanwhile: the kernel's own waiting would go on.
pub fn wait_for(file: &File, stop: &AtomicBool) -> Result<()> {
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if stop.load(Ordering::Relaxed) => return Err(Interrupted::ByRequest.into()),
            Err(TryLockError::WouldBlock) => thread::sleep(BETWEEN_TRIES),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::CommandExt, process::Command};

    use super::*;

    /// A parent that was killed between fork and this would leave its child behind.
    #[test]
    fn who_has_lost_its_parent_does_not_begin() {
        let start = |parent: u32| {
            let mut command = Command::new("true");
            // SAFETY: system calls alone, which are safe between fork and exec.
            unsafe { command.pre_exec(move || end_with_parent(parent, Signal::SIGKILL)) };
            command.status()
        };
        assert!(start(std::process::id()).unwrap().success());
        assert_eq!(start(u32::MAX).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
