//! Time that the hypervisor of this machine takes away.

use std::{fs, time::Duration};

/// A tick of `/proc/stat` (USER_HZ), to which its times are rounded down.
pub const TICK: Duration = Duration::from_millis(10);

/// CPU time that the hypervisor has taken from all processors of this machine together since the start, rounded down to a [`TICK`]. Clocks of
/// perf run meanwhile, and the kernel's account of a process's CPU time does not.
///
/// # Panics
/// Where `/proc/stat` is not as proc_stat(5) describes it.
pub fn stolen() -> Duration {
    let text = fs::read_to_string("/proc/stat").unwrap();
    let ticks: u32 = text.split_whitespace().nth(8).unwrap().parse().unwrap();
    TICK * ticks
}
