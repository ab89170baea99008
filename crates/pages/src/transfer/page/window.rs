//! Which packets the page shows.

use std::fmt::{self, Display, Formatter};

use anyhow::{Result, bail};
use quiclab_units::Duration;

/// Most packets of a page: more make one of more than 30 MB, which a browser takes long to read.
const MOST_PACKETS: usize = 1_000_000;

/// A part of a capture, in time since the first packet at the tap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    from: Duration,
    /// `None`: up to the end.
    to: Option<Duration>,
}

impl Window {
    /// Makes the window from one time to another.
    ///
    /// # Errors
    /// Where it ends before it begins.
    pub fn new(from: Option<Duration>, to: Option<Duration>) -> Result<Self> {
        let from = from.unwrap_or_default();
        match to.filter(|to| *to <= from) {
            Some(to) => bail!("--to: found {to}, expected a time after that of --from, {from}"),
            None => Ok(Self { from, to }),
        }
    }

    /// Whether nothing is left out.
    pub fn is_everything(&self) -> bool {
        self.from == Duration::default() && self.to.is_none()
    }

    /// Whether a packet at this time is not too early.
    pub fn has_begun(&self, time_ns: u64) -> bool {
        time_ns >= self.from.as_nanos()
    }

    /// Whether a packet at this time is one too many behind `kept` others.
    pub fn ends_before(&self, time_ns: u64, kept: usize) -> bool {
        kept >= MOST_PACKETS || self.to.is_some_and(|to| time_ns > to.as_nanos())
    }

    /// What a reader is to know of packets that are not shown. `last_ns`: of the last one shown, if more follow.
    pub fn what_is_missing(&self, last_ns: Option<u64>, kept: usize) -> Option<String> {
        let rules = "Rules on single packets are not applied to a part.";
        if let Some(last_ns) = last_ns.filter(|_| kept >= MOST_PACKETS) {
            // Rounded down: better some packets twice than some never.
            let next = format!("{}ms", last_ns / 1_000_000);
            return Some(format!(
                "Only {MOST_PACKETS} packets{self} are shown, up to {next}; the capture has more. --from {next} shows those \
                 that follow, --from and --to any part. {rules}"
            ));
        }
        (!self.is_everything()).then(|| format!("Only packets{self} are shown. {rules}"))
    }
}

impl Display for Window {
    fn fmt(&self, formatter: &mut Formatter) -> fmt::Result {
        match self.to {
            Some(to) => write!(formatter, " from {} to {to}", self.from),
            None if self.is_everything() => Ok(()),
            None => write!(formatter, " from {} on", self.from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(from: &str, to: &str) -> Window {
        Window::new(Some(from.parse().unwrap()), Some(to.parse().unwrap())).unwrap()
    }

    #[test]
    fn both_ends_are_inside() {
        let window = window("1 s", "2 s");
        let is_inside = |time_ns| window.has_begun(time_ns) && !window.ends_before(time_ns, 0);
        assert_eq!(
            [999_999_999, 1_000_000_000, 2_000_000_000, 2_000_000_001].map(is_inside),
            [false, true, true, false]
        );
    }

    #[test]
    fn a_window_that_ends_where_it_begins_is_refused() {
        let second = Duration::from_nanos(1_000_000_000);
        let error = Window::new(Some(second), Some(second)).unwrap_err().to_string();
        assert_eq!(error, "--to: found 1 s, expected a time after that of --from, 1 s");
    }

    #[test]
    fn more_than_a_million_packets_say_from_where_to_go_on() {
        let all = Window::default();
        assert!(!all.ends_before(u64::MAX, MOST_PACKETS - 1) && all.ends_before(0, MOST_PACKETS));
        let output_tail = all.what_is_missing(Some(12_345_678_901), MOST_PACKETS).unwrap();
        assert!(
            output_tail.starts_with("Only 1000000 packets are shown, up to 12345ms")
                && output_tail.contains("--from 12345ms shows"),
            "{output_tail}"
        );
        assert_eq!(all.what_is_missing(None, 7), None);
    }
}
