//! A PID namespace for each endpoint, so that nothing it starts outlives it.
//!
//! Three processes: the *keeper*, a child of quiclab; *init*, the first process of the namespace; and the endpoint. When init ends,
//! the kernel kills every process of the namespace, however fast they fork, and init is gone only when they are. Init ends with the
//! keeper, and the keeper with quiclab.
//!
//! Between fork and exec, system calls are made by `libc`: what happens there must allocate nothing, which libc's functions promise
//! by name and the wrappers of `nix` do not.

use std::{io, os::fd::RawFd, ptr};

use nix::{errno::Errno, sys::signal::Signal};

use quiclab_supplies::process::end_with_parent;

use super::sandbox::Sandbox;

/// Asks the keeper to kill the endpoint and everything that it has started. SIGTERM is passed on to the endpoint's process group, and
/// other signals are ignored.
pub(super) const KILL_ALL: i32 = libc::SIGUSR1;
/// How the keeper exits where it cannot do its work; a wrapper's status for a command that cannot be run.
const CANNOT_KEEP: i32 = 126;

/// Makes this process the keeper, and returns in the endpoint, which is in `sandbox` and a process group of its own. To be called between
/// fork and exec, in the child of `parent`. The keeper ends as the endpoint does, with the same status or by the same signal, once
/// everything else in the namespace has ended.
///
/// # Errors
/// What the kernel answers.
pub(super) fn enter(parent: u32, sandbox: &Sandbox) -> io::Result<()> {
    end_with_parent(parent, Signal::SIGKILL)?;
    let all = all_signals();
    // SAFETY: plain system calls with pointers to live values; this process has one thread.
    unsafe {
        Errno::result(libc::sigprocmask(libc::SIG_SETMASK, &raw const all, ptr::null_mut()))?;
        Errno::result(libc::unshare(libc::CLONE_NEWPID))?;
        let [lives, held] = new_pipe()?;
        let init = Errno::result(libc::fork())?;
        if init == 0 {
            be_init(lives);
        }
        let [asked, asks] = new_pipe()?;
        let [answered, answers] = new_pipe()?;
        let endpoint = Errno::result(libc::fork())?;
        if endpoint == 0 {
            // Their other ends are the keeper's alone, so that each sees the end of the other.
            libc::close(asked);
            libc::close(answers);
            return be_endpoint(sandbox, asks, answered);
        }
        libc::close(asks);
        libc::close(answered);
        sandbox.map_users(endpoint, asked, answers);
        keep(init, endpoint, held)
    }
}

fn new_pipe() -> io::Result<[RawFd; 2]> {
    let mut pipe: [RawFd; 2] = [-1; 2];
    // SAFETY: plain system call with a pointer to a live value.
    Errno::result(unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) })?;
    Ok(pipe)
}

/// Waits until the keeper ends, which closes the other end of the pipe `lives`.
fn be_init(lives: RawFd) -> ! {
    // SAFETY: plain system calls; the buffer lives as long as the call. Children of an init that ignores SIGCHLD leave no zombies.
    unsafe {
        // An endpoint of the same user could trace it, and has fewer rights.
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        close_all_but(lives);
        let mut byte = 0_u8;
        while libc::read(0, (&raw mut byte).cast(), 1) > 0 {}
        libc::_exit(0)
    }
}

fn be_endpoint(sandbox: &Sandbox, asks: RawFd, answered: RawFd) -> io::Result<()> {
    // SAFETY: plain system call.
    Errno::result(unsafe { libc::setpgid(0, 0) })?;
    sandbox.enter(asks, answered)?;
    // SAFETY: plain system calls with pointers to live values.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        Errno::result(libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut()))?;
    }
    Ok(())
}

/// Passes signals on until the endpoint has ended, ends the rest of the namespace, and ends in the same way.
fn keep(init: libc::pid_t, endpoint: libc::pid_t, held: RawFd) -> ! {
    let all = all_signals();
    // SAFETY: plain system calls with pointers to live values; both processes are children of this one and not reaped yet.
    unsafe {
        // Whoever started this waits until the last copy of the pipe for errors is closed.
        close_all_but(held);
        loop {
            match libc::sigwaitinfo(&raw const all, ptr::null_mut()) {
                libc::SIGTERM => {
                    libc::kill(-endpoint, libc::SIGTERM);
                }
                KILL_ALL => {
                    libc::kill(init, libc::SIGKILL);
                }
                libc::SIGCHLD => {
                    let mut status = 0;
                    if libc::waitpid(endpoint, &raw mut status, libc::WNOHANG) == endpoint {
                        libc::kill(init, libc::SIGKILL);
                        libc::waitpid(init, ptr::null_mut(), 0);
                        end_like(status);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Ends this process as the one ended whose wait status this is.
fn end_like(status: i32) -> ! {
    // SAFETY: plain system calls with a pointer to a live value.
    unsafe {
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            libc::signal(signal, libc::SIG_DFL);
            let mut one: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut one);
            libc::sigaddset(&raw mut one, signal);
            libc::kill(libc::getpid(), signal);
            libc::sigprocmask(libc::SIG_UNBLOCK, &raw const one, ptr::null_mut());
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}

/// Closes all files but `file`, which is number 0 then.
///
/// # Safety
/// Nothing else in this process may own a file.
unsafe fn close_all_but(file: RawFd) {
    // SAFETY: plain system calls; see above.
    unsafe {
        if libc::dup2(file, 0) != 0 || libc::close_range(1, u32::MAX, 0) != 0 {
            libc::_exit(CANNOT_KEEP);
        }
    }
}

fn all_signals() -> libc::sigset_t {
    // SAFETY: all zeros is a valid value of this plain struct, and the call fills it.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        all
    }
}
