//! Planned send times on a clock of the kernel.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::time::{ClockId, clock_gettime};
use quiclab_contract::Clock;

/// Turns the opaque [`Instant`] into nanoseconds of a clock of the kernel.
pub struct KernelClock {
    instant: Instant,
    nanoseconds: u64,
}

impl KernelClock {
    /// A clock that knows no time before now.
    ///
    /// # Errors
    /// Where the kernel has no such clock.
    pub fn new(clock: Clock) -> Result<Self> {
        let (id, name) = match clock {
            Clock::Monotonic => (ClockId::CLOCK_MONOTONIC, "CLOCK_MONOTONIC"),
            Clock::Tai => (ClockId::CLOCK_TAI, "CLOCK_TAI"),
        };
        let instant = Instant::now();
        let now = Duration::from(clock_gettime(id).context(name)?);
        Ok(Self { instant, nanoseconds: u64::try_from(now.as_nanos())? })
    }

    /// `at` in nanoseconds of the clock. A time before this clock was made counts as the time it was made.
    pub fn nanoseconds_at(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.instant).as_nanos();
        self.nanoseconds.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn send_times_are_in_nanoseconds_of_the_clock() {
        for (clock, id) in [(Clock::Monotonic, ClockId::CLOCK_MONOTONIC), (Clock::Tai, ClockId::CLOCK_TAI)] {
            let now = || Duration::from(clock_gettime(id).unwrap()).as_nanos() as u64;
            let kernel = KernelClock::new(clock).unwrap();
            let before = now();
            let later = kernel.nanoseconds_at(Instant::now() + Duration::from_millis(5));
            let after = now();
            // Reading two clocks in turn costs far less than the tolerance.
            let tolerance = 1_000_000;
            assert!((before + 5_000_000 - tolerance..after + 5_000_000 + tolerance).contains(&later), "{clock:?}");
        }
    }
}
