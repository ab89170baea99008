//! A process that is process 1 of new namespaces, and everything that it starts.

use std::{
    fmt, fs, io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

use anyhow::{Context, Result};
use nix::{
    errno::Errno,
    fcntl::OFlag,
    sys::signal::SigSet,
    unistd::{getgid, getuid, pipe2, read, write},
};

/// The namespaces that a run has to itself.
const OWN: libc::c_int =
    libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;

/// A process in namespaces of its own. Dropping it ends it and all that it has started.
pub struct Jail {
    process: libc::pid_t,
    watch: OwnedFd,
    has_ended: bool,
}

/// How the process ended.
pub enum End {
    /// By itself, with this status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(status) => write!(formatter, "exit status {status}"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
        }
    }
}

impl Jail {
    /// Runs `work` in a new process, which ends with the status that `work` returns. Where the caller is not root it becomes root of a
    /// new user namespace. This process must have one thread.
    ///
    /// # Errors
    /// Where the kernel allows no such namespaces.
    pub fn start(work: impl FnOnce() -> i32) -> Result<Self> {
        let (user, group) = (getuid(), getgid());
        let users = if user.is_root() { 0 } else { libc::CLONE_NEWUSER };
        let (may_begin, begin) = pipe2(OFlag::O_CLOEXEC).context("pipe")?;
        let mut watch: libc::c_int = -1;
        // SAFETY: without CLONE_VM this is a fork: both processes go on behind it with memory of their own, and there is one thread. The
        // kernel writes a descriptor into `watch`, in the parent.
        let process = unsafe {
            libc::syscall(
                libc::SYS_clone,
                libc::c_long::from(OWN | users | libc::CLONE_PIDFD | libc::SIGCHLD),
                std::ptr::null::<libc::c_void>(),
                &raw mut watch,
                std::ptr::null::<libc::c_void>(),
                0,
            )
        };
        let process = Errno::result(process).context(
            "the kernel allows no new namespaces\nhint: run quiclab-agent as root, or allow user namespaces: sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), user.max_user_namespaces=10000 (others)",
        )? as libc::pid_t;
        if process == 0 {
            drop(begin);
            let status = if prepared(&may_begin) { work() } else { 1 };
            // Nothing of the parent's state is to be torn down here.
            // SAFETY: plain system call.
            unsafe { libc::_exit(status) };
        }
        // SAFETY: the descriptor is new and ours.
        let watch = unsafe { OwnedFd::from_raw_fd(watch) };
        let jail = Self { process, watch, has_ended: false };
        if users != 0 {
            for (file, text) in [
                ("setgroups", "deny".to_owned()),
                ("uid_map", format!("0 {user} 1")),
                ("gid_map", format!("0 {group} 1")),
            ] {
                let path = format!("/proc/{process}/{file}");
                fs::write(&path, text).context(path)?;
            }
        }
        write(&begin, &[1]).context("beginning the run")?;
        Ok(jail)
    }

    /// Readable as soon as the process has ended.
    pub fn watch(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }

    /// Waits until the process has ended, and with it all that it had started.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn wait(mut self) -> Result<End> {
        Ok(self.reap()?)
    }

    fn reap(&mut self) -> io::Result<End> {
        let mut status = 0;
        loop {
            // SAFETY: the process is a child of this one that was not waited for, and the status is written to a live variable.
            match Errno::result(unsafe { libc::waitpid(self.process, &raw mut status, 0) }) {
                Err(Errno::EINTR) => {}
                result => {
                    self.has_ended = true;
                    result?;
                    break;
                }
            }
        }
        Ok(if libc::WIFSIGNALED(status) {
            End::Signal(libc::WTERMSIG(status))
        } else {
            End::Exit(libc::WEXITSTATUS(status))
        })
    }
}

impl Drop for Jail {
    fn drop(&mut self) {
        if !self.has_ended {
            // SAFETY: plain system call on a descriptor of a child that was not waited for.
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.watch.as_raw_fd(), libc::SIGKILL, 0_usize, 0) };
            // The kernel lets process 1 of a PID namespace end only when all others there have.
            let _ = self.reap();
        }
    }
}

/// In the child: ends with the parent, leaves its terminal, takes signals again, and waits until the parent has said who it is.
/// False where the parent has ended.
fn prepared(may_begin: &OwnedFd) -> bool {
    // SAFETY: plain system call.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
        return false;
    }
    // A session of its own: no program in it can type on the terminal of whoever started the agent.
    // SAFETY: plain system call.
    if unsafe { libc::setsid() } == -1 {
        return false;
    }
    // The parent waits for signals by a descriptor, and has them blocked.
    if SigSet::empty().thread_set_mask().is_err() {
        return false;
    }
    // Where the parent ended before it said anything, the pipe is at its end.
    matches!(read(may_begin, &mut [0]), Ok(1))
}
