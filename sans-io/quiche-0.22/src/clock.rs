//! Planned send times in nanoseconds since the start of the run.

use std::time::{Duration, Instant};

use anyhow::Result;
use quiclab_contract::Clock;

use crate::machine;

/// Turns the opaque [`Instant`] into nanoseconds since the start of the run; has the name of what is in its place in the
/// endpoint for virtual machines.
pub struct KernelClock {
    start: Instant,
}

impl KernelClock {
    /// The clocks of the kernel are all the same here.
    ///
    /// # Errors
    /// None.
    pub fn new(_: Clock) -> Result<Self> {
        Ok(Self { start: Instant::now() - Duration::from_nanos(machine::now_ns()) })
    }

    /// `at` in nanoseconds since the start of the run. A time before that counts as it.
    pub fn nanoseconds_at(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.start).as_nanos()).unwrap_or(u64::MAX)
    }
}
