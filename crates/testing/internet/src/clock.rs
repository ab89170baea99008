//! The clock of the Internet: that of the machine when it started, and never set since.

use nix::time::{ClockId, clock_gettime};
use quiclab_units::Time;

/// Turns nanoseconds of CLOCK_MONOTONIC into Unix time. A step of the machine's clock changes nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Nanoseconds from the start of CLOCK_MONOTONIC to the Unix epoch, backwards.
    unix_of_zero: i128,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { unix_of_zero: i128::from(read(ClockId::CLOCK_REALTIME)) - i128::from(monotonic()) }
    }

    /// Unix time of a monotonic time.
    pub(crate) fn unix(self, monotonic: u64) -> Time {
        Time::from_nanos(u64::try_from(self.unix_of_zero + i128::from(monotonic)).unwrap_or(0))
    }
}

/// Nanoseconds of CLOCK_MONOTONIC.
pub(crate) fn monotonic() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Both clocks at one moment, for stamps that the kernel takes from the one that can be set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    monotonic: u64,
    realtime: u64,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self { monotonic: monotonic(), realtime: read(ClockId::CLOCK_REALTIME) }
    }

    /// Monotonic time of a stamp that is a little older than this moment. A stamp of the future, or one more than a minute old, was taken
    /// before the clock was set: then it is this moment.
    pub(crate) fn of_stamp(self, realtime: u64) -> u64 {
        const OLDEST: u64 = 60_000_000_000;
        let age = self.realtime.checked_sub(realtime).filter(|age| *age < OLDEST).unwrap_or(0);
        self.monotonic.saturating_sub(age)
    }
}

fn read(clock: ClockId) -> u64 {
    // Both clocks exist on every Linux, so this cannot fail.
    clock_gettime(clock).map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_keeps_its_age_and_a_clock_that_was_set_does_not_spoil_it() {
        let moment = Moment { monotonic: 5_000_000_000, realtime: 1_700_000_000_000_000_000 };
        assert_eq!(moment.of_stamp(moment.realtime - 1_000), 4_999_999_000);
        assert_eq!(moment.of_stamp(moment.realtime + 1), 5_000_000_000);
        assert_eq!(moment.of_stamp(moment.realtime - 3_600_000_000_000), 5_000_000_000);
    }
}
