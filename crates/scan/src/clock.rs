//! Two clocks: durations are measured by the monotonic one, and the kernel's times of reception and what people read are of the
//! real-time clock, which may be set at any moment.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Differences below this between the two clocks are how they are read one after the other, in nanoseconds.
const TOLERANCE_NS: u64 = 1_000_000;
/// Two readings of the monotonic clock with one of the other between them are close with this, in nanoseconds.
const CLOSE_NS: u64 = 20_000;
/// Readings at most, for machines on which none is close.
const MOST_READINGS: u32 = 8;
/// A clock that NTP slews runs faster or slower by at most 500 parts in a million, `adjtimex(2)`.
const SLEW: u64 = 2_000;
/// A packet does not wait longer than this between the kernel's time stamp and being read; otherwise the stamp is not trusted.
const LONGEST_WAIT_NS: u64 = 10_000_000_000;

/// One moment, on both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds since the clock was made.
    pub monotonic_ns: u64,
    /// Nanoseconds since the Unix epoch.
    pub unix_ns: u64,
}

impl Moment {
    /// The monotonic time of a real-time stamp that was taken not long before this moment. A stamp of the future, or of long ago,
    /// is that of another setting of the clock, and is taken as this moment.
    pub fn monotonic_of(self, unix_ns: u64) -> u64 {
        match self.unix_ns.checked_sub(unix_ns) {
            Some(age) if age <= LONGEST_WAIT_NS => self.monotonic_ns.saturating_sub(age),
            _ => self.monotonic_ns,
        }
    }

    /// Real time of a monotonic time, as if the clock had not been set since this moment.
    pub fn unix_of(self, monotonic_ns: u64) -> u64 {
        match monotonic_ns.checked_sub(self.monotonic_ns) {
            Some(later) => self.unix_ns.saturating_add(later),
            None => self.unix_ns.saturating_sub(self.monotonic_ns - monotonic_ns),
        }
    }

    /// Nanoseconds by which the real-time clock was set forwards between two moments; negative where it was set back. `None`: by nothing
    /// that can be told from slewing.
    pub fn step_until(self, later: Moment) -> Option<i64> {
        let elapsed = later.monotonic_ns.saturating_sub(self.monotonic_ns);
        let step = i128::from(later.unix_ns) - i128::from(self.unix_ns) - i128::from(elapsed);
        let is_step = step.unsigned_abs() > u128::from(TOLERANCE_NS + elapsed / SLEW);
        is_step.then(|| step.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }
}

/// Both clocks: those of this machine, or virtual ones.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The zero of monotonic time, as the stack has it.
    zero: Instant,
    /// The present moment of virtual clocks, on which time passes by [`Clock::pass`] alone. `None`: this machine's are read.
    virtual_now: Option<Moment>,
}

impl Clock {
    /// The clocks of this machine. Monotonic time begins now.
    pub fn of_machine() -> Self {
        Clock { zero: Instant::now(), virtual_now: None }
    }

    /// Virtual clocks, which begin at this moment.
    pub fn virtual_at(moment: Moment) -> Self {
        Clock { zero: Instant::now(), virtual_now: Some(moment) }
    }

    /// Lets time pass on virtual clocks. Those of a machine pass by themselves.
    pub fn pass(&mut self, time: Duration) {
        if let Some(now) = &mut self.virtual_now {
            let nanoseconds = time.as_nanos() as u64;
            now.monotonic_ns += nanoseconds;
            now.unix_ns += nanoseconds;
        }
    }

    /// Sets the virtual real-time clock forwards, as somebody may do with that of a machine.
    #[cfg(test)]
    pub fn set_forwards(&mut self, nanoseconds: u64) {
        self.virtual_now.as_mut().expect("a virtual clock").unix_ns += nanoseconds;
    }

    /// The present moment. Whoever is interrupted between the clocks reads them again: it would look as if one had been set.
    pub fn now(&self) -> Moment {
        if let Some(now) = self.virtual_now {
            return now;
        }
        let mut before_ns = self.zero.elapsed().as_nanos() as u64;
        let mut best = (u64::MAX, Moment::default());
        for _ in 0..MOST_READINGS {
            let unix_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
            let after_ns = self.zero.elapsed().as_nanos() as u64;
            let apart_ns = after_ns - before_ns;
            if apart_ns < best.0 {
                best = (apart_ns, Moment { monotonic_ns: before_ns + apart_ns / 2, unix_ns });
            }
            if apart_ns <= CLOSE_NS {
                break;
            }
            before_ns = after_ns;
        }
        best.1
    }

    /// Returns a monotonic time as the stack has it.
    pub fn instant(&self, monotonic_ns: u64) -> Instant {
        self.zero + Duration::from_nanos(monotonic_ns)
    }

    /// Returns the monotonic time of an instant, as a timer has it. 0 for what was before the clock.
    pub fn monotonic_ns(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.zero).as_nanos().try_into().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn moment(monotonic_ns: u64, unix_ns: u64) -> Moment {
        Moment { monotonic_ns, unix_ns }
    }

    #[test]
    fn a_stamp_is_as_old_on_both_clocks() {
        assert_eq!(moment(5 * SECOND, 100 * SECOND).monotonic_of(99 * SECOND), 4 * SECOND);
    }

    #[test]
    fn a_stamp_from_before_the_clock_was_set_is_now() {
        let now = moment(5 * SECOND, 100 * SECOND);
        assert_eq!(now.monotonic_of(101 * SECOND), 5 * SECOND, "set back");
        assert_eq!(now.monotonic_of(50 * SECOND), 5 * SECOND, "set forward");
    }

    #[test]
    fn a_step_is_seen_and_slewing_is_not() {
        let start = moment(0, 1000 * SECOND);
        let after = |unix_ns| start.step_until(moment(10 * SECOND, unix_ns));
        assert_eq!(after(1010 * SECOND), None);
        // 500 parts in a million of 10 s are 5 ms.
        assert_eq!(after(1010 * SECOND + 5_000_000), None);
        assert_eq!(after(1010 * SECOND + 7_000_000), Some(7_000_000));
        assert_eq!(after(1000 * SECOND), Some(-10 * SECOND as i64));
    }

    #[test]
    fn real_time_goes_on_from_a_moment_in_both_directions() {
        let start = moment(5 * SECOND, 100 * SECOND);
        assert_eq!(start.unix_of(6 * SECOND), 101 * SECOND);
        assert_eq!(start.unix_of(4 * SECOND), 99 * SECOND);
    }
}
