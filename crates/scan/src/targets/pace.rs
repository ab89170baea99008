//! How fast a scan asks.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    net::IpAddr,
    str::FromStr,
};

use quiclab_units::{Duration, Time};

const SECOND: u64 = 1_000_000_000;
/// The longest and the shortest time between two connections to one address is this.
const PER_ADDRESS: u64 = SECOND;

/// Connections in a time, exact: `10` and `10/s` are ten a second, `1/min` is one a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequency {
    count: u32,
    /// Length of the time, in nanoseconds.
    period: u64,
}

/// A text that is no frequency.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found {found}, expected a whole number from 1 to 1000000, alone or with /s, /min or /h, as in 10/s")]
pub struct BadFrequency {
    /// The text.
    pub found: String,
}

impl Frequency {
    /// What a scan does unless set otherwise: ten connections a second.
    pub const DEFAULT: Self = Self { count: 10, period: SECOND };
    /// Most that is believed, of any period.
    const MOST: u32 = 1_000_000;

    /// Connections a second. `None`: none, or more than a million.
    pub fn per_second(count: u32) -> Option<Self> {
        (1..=Self::MOST).contains(&count).then_some(Self { count, period: SECOND })
    }

    /// How long a number of connections takes, rounded up. Saturates at 584 years.
    pub fn time_of(self, connections: u64) -> Duration {
        let nanos = (u128::from(connections) * u128::from(self.period)).div_ceil(u128::from(self.count));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl FromStr for Frequency {
    type Err = BadFrequency;

    fn from_str(text: &str) -> Result<Self, BadFrequency> {
        let bad = || BadFrequency { found: crate::targets::line::quoted(text) };
        let (count, unit) = text.split_once('/').unwrap_or((text, "s"));
        let period = match unit {
            "s" => SECOND,
            "min" => 60 * SECOND,
            "h" => 3600 * SECOND,
            _ => return Err(bad()),
        };
        let is_number = count.bytes().all(|byte| byte.is_ascii_digit());
        match count.parse() {
            Ok(count) if is_number && (1..=Self::MOST).contains(&count) => Ok(Self { count, period }),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.period {
            SECOND => "s",
            period if period == 60 * SECOND => "min",
            _ => "h",
        };
        write!(formatter, "{}/{unit}", self.count)
    }
}

/// A token bucket for all connections, and one connection per address and second.
///
/// In any second there start at most rate and burst together, and two to the same address are a second apart. A clock that goes back
/// counts as one that does not advance. Holds the addresses of the last second, which is rate and burst of them.
#[derive(Clone, Debug)]
pub struct Pace {
    frequency: Frequency,
    /// What the bucket holds; a connection costs the period of the frequency, and a nanosecond brings its count.
    credit: u128,
    most_credit: u128,
    now: Time,
    started: HashMap<IpAddr, Time>,
    /// The same in order of time, to forget them.
    order: VecDeque<(Time, IpAddr)>,
}

/// Whether a connection may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Now: it counts as started.
    Now,
    /// Nobody may be asked before this time.
    Rate(Time),
    /// This address may not be asked before this time; others may.
    Address(Time),
}

impl Pace {
    /// A pace whose bucket is full.
    ///
    /// `burst`: connections that may start together after a quiet time, at least 1.
    pub fn new(frequency: Frequency, burst: u32, now: Time) -> Self {
        let most_credit = u128::from(burst.max(1)) * u128::from(frequency.period);
        let (started, order) = Default::default();
        Self { frequency, credit: most_credit, most_credit, now, started, order }
    }

    /// Asks for a connection to an address.
    pub fn start(&mut self, address: IpAddr, now: Time) -> Start {
        self.advance(now);
        let address = address.to_canonical();
        if let Some(at) = self.started.get(&address) {
            return Start::Address(after(*at, PER_ADDRESS));
        }
        if let Some(at) = self.next_start() {
            return Start::Rate(at);
        }
        self.credit -= u128::from(self.frequency.period);
        self.started.insert(address, self.now);
        self.order.push_back((self.now, address));
        Start::Now
    }

    /// When the bucket has enough for a connection. `None`: it has.
    pub fn next_start(&self) -> Option<Time> {
        let missing = u128::from(self.frequency.period).checked_sub(self.credit).filter(|missing| *missing > 0)?;
        let nanos = missing.div_ceil(u128::from(self.frequency.count));
        Some(after(self.now, u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// How many addresses are remembered.
    pub fn remembered(&self) -> usize {
        self.started.len()
    }

    /// Fills the bucket, and forgets addresses that may be asked again.
    pub(crate) fn advance(&mut self, now: Time) {
        let Some(elapsed) = now.checked_since(self.now) else { return };
        self.now = now;
        let gained = u128::from(elapsed.as_nanos()) * u128::from(self.frequency.count);
        self.credit = (self.credit + gained).min(self.most_credit);
        while let Some((at, address)) = self.order.front()
            && after(*at, PER_ADDRESS) <= now
        {
            self.started.remove(address);
            self.order.pop_front();
        }
    }
}

fn after(time: Time, nanos: u64) -> Time {
    Time::from_nanos(time.as_nanos().saturating_add(nanos))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
    }

    #[test]
    fn frequencies_are_read_exactly_or_not_at_all() {
        for (text, nanos) in [("10", 100_000_000), ("3/s", 333_333_334), ("1/min", 60 * SECOND), ("2/h", 1800 * SECOND)]
        {
            let frequency: Frequency = text.parse().unwrap();
            assert_eq!(frequency.time_of(1).as_nanos(), nanos, "{text}");
            assert_eq!(frequency.to_string().parse(), Ok(frequency));
        }
        assert_eq!("3".parse::<Frequency>().unwrap().time_of(3).as_nanos(), SECOND);
        for text in ["", "0", "+3", "1.5", "3/d", "1000001", "10/", "/s", "10 /s"] {
            assert!(text.parse::<Frequency>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_first_ones_start_together_and_the_rest_at_the_rate() {
        let frequency = "3".parse().unwrap();
        let mut pace = Pace::new(frequency, 2, Time::from_nanos(0));
        let mut starts = Vec::new();
        let mut now = Time::from_nanos(0);
        for last in 0..8 {
            loop {
                match pace.start(address(last), now) {
                    Start::Now => break starts.push(now.as_nanos()),
                    Start::Rate(at) => now = at,
                    Start::Address(_) => panic!("no address is asked twice"),
                }
            }
        }
        assert_eq!(starts, [0, 0, 333_333_334, 666_666_667, SECOND, 1_333_333_334, 1_666_666_667, 2 * SECOND]);
    }

    #[test]
    fn an_address_is_asked_again_after_a_second_and_not_a_nanosecond_before() {
        let mut pace = Pace::new(Frequency::per_second(1000).unwrap(), 10, Time::from_nanos(5));
        assert_eq!(pace.start(address(1), Time::from_nanos(5)), Start::Now);
        let again = Time::from_nanos(SECOND + 5);
        assert_eq!(pace.start(address(1), Time::from_nanos(6)), Start::Address(again));
        let mapped: IpAddr = "::ffff:10.0.0.1".parse().unwrap();
        assert_eq!(pace.start(mapped, Time::from_nanos(6)), Start::Address(again), "the same address");
        assert_eq!(pace.start(address(2), Time::from_nanos(6)), Start::Now);
        assert_eq!(pace.start(address(1), Time::from_nanos(SECOND + 4)), Start::Address(again));
        assert_eq!(pace.start(address(1), again), Start::Now);
    }

    #[test]
    fn a_clock_that_goes_back_brings_nothing() {
        let mut pace = Pace::new(Frequency::per_second(1).unwrap(), 1, Time::from_nanos(5 * SECOND));
        assert_eq!(pace.start(address(1), Time::from_nanos(5 * SECOND)), Start::Now);
        for seconds in [0, 4, 1, 5] {
            let start = pace.start(address(2), Time::from_nanos(seconds * SECOND));
            assert_eq!(start, Start::Rate(Time::from_nanos(6 * SECOND)));
        }
    }

    #[test]
    fn addresses_are_forgotten_so_that_memory_is_bounded() {
        let mut pace = Pace::new(Frequency::per_second(100).unwrap(), 10, Time::from_nanos(0));
        for step in 0..100_000_u64 {
            let address = IpAddr::V4(Ipv4Addr::from_bits(step as u32));
            assert_eq!(pace.start(address, Time::from_nanos(step * SECOND / 100)), Start::Now);
            assert!(pace.remembered() <= 110);
        }
    }

    proptest! {
        /// Against the rule itself: every window that starts with a connection.
        #[test]
        fn no_second_has_more_than_rate_and_burst_and_no_address_two(
            count in 1_u32..50, period in 0..2_usize, burst in 1_u32..20,
            asks in prop::collection::vec((0_u64..300_000_000, 0_u8..30), 1..600),
        ) {
            let period = [SECOND, 3 * SECOND][period];
            let mut pace = Pace::new(Frequency { count, period }, burst, Time::from_nanos(0));
            let (mut now, mut starts) = (0, Vec::new());
            for (step, last) in asks {
                now += step;
                match pace.start(address(last), Time::from_nanos(now)) {
                    Start::Now => starts.push((now, last)),
                    Start::Rate(at) | Start::Address(at) => prop_assert!(at.as_nanos() > now),
                }
            }
            // In integers: (n - burst) connections cost no more than what a second brings.
            let most = u64::from(burst) + u64::from(count) * SECOND / period;
            for (index, (begin, last)) in starts.iter().enumerate() {
                let window: Vec<_> = starts[index..].iter().take_while(|(at, _)| at - begin < SECOND).collect();
                prop_assert!(window.len() as u64 <= most, "{} in a second, at most {most}", window.len());
                prop_assert_eq!(window.iter().filter(|(_, other)| other == last).count(), 1);
            }
        }
    }
}
