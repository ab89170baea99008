//! Planned send times on the kernel's clock.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::time::{ClockId, clock_gettime};

/// Turns the opaque [`Instant`] into nanoseconds of CLOCK_MONOTONIC, which is the same clock on Linux.
pub struct MonotonicClock {
    instant: Instant,
    nanoseconds: u64,
}

impl MonotonicClock {
    /// A clock that knows no time before now.
    ///
    /// # Errors
    /// Where the kernel has no CLOCK_MONOTONIC.
    pub fn new() -> Result<Self> {
        let instant = Instant::now();
        let now = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).context("CLOCK_MONOTONIC")?);
        Ok(Self { instant, nanoseconds: u64::try_from(now.as_nanos())? })
    }

    /// `at` in nanoseconds of CLOCK_MONOTONIC. A time before this clock was made counts as the time it was made.
    pub fn nanoseconds_at(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.instant).as_nanos();
        self.nanoseconds.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn send_times_are_in_nanoseconds_of_the_monotonic_clock() {
        let clock = MonotonicClock::new().unwrap();
        let before = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap()).as_nanos() as u64;
        let later = clock.nanoseconds_at(Instant::now() + Duration::from_millis(5));
        let after = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap()).as_nanos() as u64;
        // Reading two clocks in turn costs far less than the tolerance.
        let tolerance = 1_000_000;
        assert!((before + 5_000_000 - tolerance..after + 5_000_000 + tolerance).contains(&later));
    }
}
