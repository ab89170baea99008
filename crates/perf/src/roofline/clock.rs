//! CPU time of this thread.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use crate::roofline::part::Unmeasured;

/// CPU time that this thread has used, in user mode and in the kernel.
pub fn used() -> Result<Duration, Unmeasured> {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_err(|source| Unmeasured::Kernel { what: "CLOCK_THREAD_CPUTIME_ID", source })?;
    Ok(Duration::from(time))
}

/// A sum of CPU times.
#[derive(Debug, Default)]
pub struct Watch(Duration);

impl Watch {
    /// Adds what `work` uses.
    pub fn during<T>(&mut self, work: impl FnOnce() -> Result<T, Unmeasured>) -> Result<T, Unmeasured> {
        let before = used()?;
        let result = work()?;
        self.0 += used()?.saturating_sub(before);
        Ok(result)
    }

    /// Returns the time for each of so many bytes, in nanoseconds.
    pub fn ns_per_byte(&self, bytes: u64) -> f64 {
        self.0.as_nanos() as f64 / bytes.max(1) as f64
    }
}
