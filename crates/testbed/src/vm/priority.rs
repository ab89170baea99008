//! Keeps QEMU's two threads from racing.
//!
//! With instruction counting, QEMU's main loop moves virtual time to the next timer when it finds the virtual CPU halted. It
//! may find that before the CPU's thread has counted the instructions it has just executed; time then moves too far, by some
//! hundred nanoseconds. On a busy machine a third of all runs differed. The race needs the main loop to run in the midst of
//! the CPU's work, so it is made to come first: all threads on one core, and the main loop, which needs next to no time,
//! always before the CPU. QEMU's other threads come first as well: one that held the main loop's lock while the CPU
//! goes on would put the main loop behind it.

use std::{fs, io, mem};

use anyhow::{Context, Result};
use nix::{
    sys::resource::{Resource, getrlimit},
    unistd::geteuid,
};

/// Lets every other thread of the process `main_loop` come before its thread `cpu` whenever it has work.
///
/// With the right to real-time priorities they get the lowest of them, and hand it on to the threads that they start. Without,
/// the CPU's thread becomes one that yields to every other on the machine, which is as exact but slow beside other load.
///
/// # Errors
/// What the kernel answers.
pub fn put_first(main_loop: i32, cpu: i32) -> Result<()> {
    if set_policy(main_loop, libc::SCHED_FIFO, 1).is_err() {
        return set_policy(cpu, libc::SCHED_IDLE, 0).context("sched_setscheduler");
    }
    let folder = format!("/proc/{main_loop}/task");
    for entry in fs::read_dir(&folder).context(folder.clone())? {
        let name = entry?.file_name();
        let thread: i32 = name.to_string_lossy().parse().with_context(|| folder.clone())?;
        if thread != cpu && thread != main_loop {
            match set_policy(thread, libc::SCHED_FIFO, 1) {
                // It has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                other => other.context("sched_setscheduler")?,
            }
        }
    }
    Ok(())
}

/// True where [`put_first`] can use real-time priorities.
pub fn has_real_time() -> bool {
    getrlimit(Resource::RLIMIT_RTPRIO).is_ok_and(|(soft, _)| soft > 0) || geteuid().is_root()
}

fn set_policy(thread: i32, policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // nix has no sched_setscheduler.
    // SAFETY: all zeros is a valid value of this plain struct.
    let mut parameters: libc::sched_param = unsafe { mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the parameters are a live value.
    match unsafe { libc::sched_setscheduler(thread, policy, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
