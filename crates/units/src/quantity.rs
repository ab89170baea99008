//! Rates and byte counts.

use std::{fmt, str::FromStr};

use crate::parse::{ParseUnitError, Unit, display, parse};

/// Decimal prefixes, as link rates are given. Bits, never bytes.
const RATE_UNITS: &[Unit] = &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)];
/// Decimal and binary prefixes; M is not Mi.
const BYTE_UNITS: &[Unit] = &[
    ("B", 1),
    ("kB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
];

/// A data rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// Makes a rate from bits per second.
    pub const fn from_bits_per_second(bits_per_second: u64) -> Self {
        Self(bits_per_second)
    }

    /// Returns the rate in bits per second.
    pub const fn as_bits_per_second(self) -> u64 {
        self.0
    }
}

impl FromStr for Rate {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text, "a rate such as \"40 Mbit/s\"", RATE_UNITS).map(Self)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(self.0, RATE_UNITS, f)
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteCount(u64);

impl ByteCount {
    /// Makes a number of bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes.
    pub const fn as_bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for ByteCount {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text, "a number of bytes such as \"10 MiB\"", BYTE_UNITS).map(Self)
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(self.0, BYTE_UNITS, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_not_bytes_and_m_is_not_mi() {
        assert_eq!("40 Mbit/s".parse(), Ok(Rate::from_bits_per_second(40_000_000)));
        assert_eq!("2.5 Mbit/s".parse(), Ok(Rate::from_bits_per_second(2_500_000)));
        assert_eq!("10 MiB".parse(), Ok(ByteCount::from_bytes(10 << 20)));
        assert_eq!("10 MB".parse(), Ok(ByteCount::from_bytes(10_000_000)));
        for ambiguous in ["40 Mbps", "40 MB/s", "40M", "40", "40 mbit/s"] {
            assert!(ambiguous.parse::<Rate>().is_err(), "{ambiguous}");
        }
    }

    #[test]
    fn an_error_says_what_was_found_and_what_is_expected() {
        let error = "40 Mbps".parse::<Rate>().unwrap_err().to_string();
        assert_eq!(
            error,
            "found \"40 Mbps\", expected a rate such as \"40 Mbit/s\" (units: bit/s, kbit/s, Mbit/s, Gbit/s)"
        );
    }

    #[test]
    fn what_is_not_exact_or_too_large_is_refused() {
        for text in ["0.5 B", "1.2345 kbit/s", "20000000000 GiB", ".5 MiB", "5. MiB", "1.2.3 MiB", "-1 B", ""] {
            assert!(text.parse::<ByteCount>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_displayed_parses_back() {
        for bytes in [0, 1, 999, 1000, 1024, 1535, 10 << 20, 52_428_800, u64::MAX] {
            let count = ByteCount::from_bytes(bytes);
            assert_eq!(count.to_string().parse(), Ok(count));
            let rate = Rate::from_bits_per_second(bytes);
            assert_eq!(rate.to_string().parse(), Ok(rate));
        }
        assert_eq!(ByteCount::from_bytes(10 << 20).to_string(), "10 MiB");
        assert_eq!(ByteCount::from_bytes(1535).to_string(), "1535 B");
    }
}
