//! Exact times of what happens at a rate: whole nanoseconds with the remainder carried along.

use quiclab_units::{Rate, Time};

/// Nanoseconds in a second.
pub(crate) const SECOND: u64 = 1_000_000_000;

/// A rate of more than zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositiveRate(u64);

/// A rate of zero, at which nothing ever arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found a rate of 0 bit/s, expected more\nhint: to let nothing through, use a rule that drops everything")]
pub struct ZeroRate;

impl PositiveRate {
    /// Returns the rate in bits per second.
    pub const fn as_bits_per_second(self) -> u64 {
        self.0
    }
}

impl TryFrom<Rate> for PositiveRate {
    type Error = ZeroRate;

    fn try_from(rate: Rate) -> Result<Self, ZeroRate> {
        match rate.as_bits_per_second() {
            0 => Err(ZeroRate),
            bits => Ok(Self(bits)),
        }
    }
}

/// A point in time between two nanoseconds: the end of what was sent at a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExactTime {
    /// The whole nanosecond before it.
    time: Time,
    /// What is missing, in nanoseconds times the rate; less than the rate.
    remainder: u64,
}

impl ExactTime {
    /// This whole nanosecond.
    pub(crate) fn at(time: Time) -> Self {
        Self { time, remainder: 0 }
    }

    /// The whole nanosecond at or before it.
    pub(crate) fn floor(self) -> Time {
        self.time
    }

    /// This point or `now`, whichever is later.
    pub(crate) fn or_later(self, now: Time) -> Self {
        if self.time < now { Self::at(now) } else { self }
    }

    /// Returns the point later by the time that `bytes` take at `rate`; the end of time where that is beyond it.
    pub(crate) fn after(self, bytes: u64, rate: PositiveRate) -> Self {
        let rate = rate.0;
        // Nearly always 64 bits are enough, whose division is several times as fast.
        let work = bytes.checked_mul(8 * SECOND).and_then(|work| work.checked_add(self.remainder));
        let (whole, remainder) = match work {
            Some(work) => (work / rate, work % rate),
            None => {
                let work = u128::from(bytes) * 8 * u128::from(SECOND) + u128::from(self.remainder);
                let whole = u64::try_from(work / u128::from(rate)).unwrap_or(u64::MAX);
                (whole, (work % u128::from(rate)) as u64)
            }
        };
        Self { time: Time::from_nanos(self.time.as_nanos().saturating_add(whole)), remainder }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(bits: u64) -> PositiveRate {
        Rate::from_bits_per_second(bits).try_into().unwrap()
    }

    #[test]
    fn a_million_packets_end_when_one_of_their_sum_does() {
        for bits in [1, 3, 7_000_001, 40_000_000, 57_000_000, 9_999_999_967] {
            let mut end = ExactTime::at(Time::from_nanos(5));
            for _ in 0..1_000_000 {
                end = end.after(1514, rate(bits));
            }
            let whole = u128::from(1514u64 * 1_000_000) * 8 * u128::from(SECOND) / u128::from(bits);
            assert_eq!(u128::from(end.floor().as_nanos()), (whole + 5).min(u128::from(u64::MAX)), "{bits}");
        }
    }

    #[test]
    fn what_is_idle_begins_at_a_whole_nanosecond() {
        let end = ExactTime::at(Time::from_nanos(0)).after(1, rate(3));
        assert_eq!(end.floor(), Time::from_nanos(2_666_666_666));
        assert_eq!(end.or_later(Time::from_nanos(2_666_666_666)), end);
        let later = Time::from_nanos(2_666_666_667);
        assert_eq!(end.or_later(later), ExactTime::at(later));
    }

    #[test]
    fn a_rate_of_nothing_is_refused() {
        assert_eq!(PositiveRate::try_from(Rate::from_bits_per_second(0)), Err(ZeroRate));
    }
}
