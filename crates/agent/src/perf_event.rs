//! The system call `perf_event_open(2)`, for counters and for samples.

use std::os::fd::{FromRawFd, OwnedFd};

use nix::errno::Errno;

/// Type of events that the kernel counts itself.
pub(crate) const TYPE_SOFTWARE: u32 = 1;
/// Nanoseconds that a task has run.
pub(crate) const TASK_CLOCK: u64 = 1;
/// Bit of [`Attributes::flags`]: threads and processes that the task starts count too.
pub(crate) const INHERIT: u64 = 1 << 1;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
const NO_GROUP: libc::c_int = -1;

/// The first version of `struct perf_event_attr`, which every kernel takes.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Attributes {
    pub kind: u32,
    /// Filled in by [`open`].
    pub size: u32,
    pub config: u64,
    pub sample_period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub flags: u64,
    pub wakeup_events: u32,
    pub breakpoint_type: u32,
    pub config1: u64,
}

/// Opens an event of a thread (0: the calling one) on a CPU (`None`: on all).
///
/// # Errors
/// The kernel's, where it lacks the event, or allows it to others only.
pub(crate) fn open(mut attributes: Attributes, thread: u32, cpu: Option<u32>) -> Result<OwnedFd, Errno> {
    attributes.size = size_of::<Attributes>() as u32;
    // SAFETY: the attributes are as long as they say, and outlive the call.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            thread as libc::pid_t,
            cpu.map_or(-1, |cpu| cpu as libc::c_int),
            NO_GROUP,
            CLOSE_ON_EXEC,
        )
    };
    // SAFETY: the descriptor is new and ours.
    Errno::result(descriptor).map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}
