//! Points in time and the spans between them, in nanoseconds.

use std::{
    fmt,
    ops::{Add, Sub},
    str::FromStr,
};

use crate::parse::{ParseUnitError, Unit, display, parse};

const DURATION_UNITS: &[Unit] =
    &[("ns", 1), ("us", 1_000), ("\u{b5}s", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)];
/// Minutes are understood but not printed: "300 s" is what people compare with.
const DISPLAYED_UNITS: &[Unit] = &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

/// A point in time: nanoseconds since an epoch, which for captures is the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// Makes a point in time from nanoseconds since the epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` until this point; `None` where that lies in the future.
    pub const fn checked_since(self, earlier: Self) -> Option<Duration> {
        match self.0.checked_sub(earlier.0) {
            Some(nanos) => Some(Duration(nanos)),
            None => None,
        }
    }
}

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// Makes a duration from nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Makes a duration from microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// Makes a duration from milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// Makes a duration from seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1_000_000_000)
    }

    /// Returns the duration in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the duration in seconds, for arithmetic that is a division anyway; a clock never uses it.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add for Duration {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0 + span.0)
    }
}

impl Sub for Duration {
    type Output = Self;

    /// # Panics
    /// Where the result would be negative, which is a bug of the caller.
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl FromStr for Duration {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text, "a duration such as \"20 ms\"", DURATION_UNITS).map(Self)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(self.0, DISPLAYED_UNITS, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_parsed_exactly() {
        assert_eq!("0.1 ms".parse(), Ok(Duration::from_micros(100)));
        assert_eq!("20ms".parse(), Ok(Duration::from_millis(20)));
        assert_eq!("200 \u{b5}s".parse(), Ok(Duration::from_micros(200)));
        assert_eq!("2 min".parse(), Ok(Duration::from_secs(120)));
        assert!("0.1 ns".parse::<Duration>().is_err());
        assert!("20".parse::<Duration>().is_err());
    }

    #[test]
    fn what_is_displayed_parses_back() {
        for nanos in [0, 1, 99_999, 100_000, 20_000_000, 300_000_000_000, u64::MAX] {
            let span = Duration::from_nanos(nanos);
            assert_eq!(span.to_string().parse(), Ok(span));
        }
        assert_eq!(Duration::from_millis(20).to_string(), "20 ms");
    }

    #[test]
    fn time_before_its_start_is_none() {
        let [early, late] = [Time::from_nanos(5), Time::from_nanos(8)];
        assert_eq!(late.checked_since(early), Some(Duration::from_nanos(3)));
        assert_eq!(early.checked_since(late), None);
    }
}
