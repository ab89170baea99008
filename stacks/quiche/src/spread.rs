//! Send times within a burst: quiche gives all packets of its send quantum the same one.

use std::time::{Duration, Instant};

/// By which quiche 0.24 paces faster than a window per round-trip time: PACING_MULTIPLIER in its recovery/congestion/mod.rs.
const PACING_MULTIPLIER: f64 = 1.25;

/// The rate at which quiche 0.24 paces CUBIC and Reno, in whole bytes per second, as its pacer and the kernel have it; it can only be
/// computed, as the pacer does. `None` where it does not pace yet.
pub fn pacing_rate(quic: &quiche::Connection) -> Option<f64> {
    let path = quic.path_stats().find(|path| path.active)?;
    // Before the first sample it does not pace.
    path.min_rtt?;
    let seconds = path.rtt.as_secs_f64();
    let rate = (PACING_MULTIPLIER * path.cwnd as f64 / seconds).floor();
    (rate.is_finite() && rate >= 1.0).then_some(rate)
}

/// Spreads packets that have the same time by a rate.
#[derive(Debug, Default)]
pub struct Spread {
    at: Option<Instant>,
    bytes: usize,
    /// The time of the packet before.
    latest: Option<Instant>,
}

impl Spread {
    /// When a packet of `length` bytes is to leave, which quiche wants to leave at `at`: behind all that had the same time, and never before
    /// one that was asked for earlier.
    pub fn time(&mut self, at: Instant, length: usize, rate: Option<f64>) -> Instant {
        if self.at != Some(at) {
            *self = Self { at: Some(at), bytes: 0, latest: self.latest };
        }
        let behind = rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(self.bytes as f64 / rate));
        self.bytes += length;
        let time = self.latest.map_or(at + behind, |latest| latest.max(at + behind));
        self.latest = Some(time);
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_one_time_follow_each_other_by_the_rate() {
        let mut spread = Spread::default();
        let start = Instant::now();
        let later = start + Duration::from_millis(5);
        let microseconds = |time: Instant| time.duration_since(start).as_micros();
        let found = [(start, 1000), (start, 1000), (start, 500), (later, 1000), (later, 1000)]
            .map(|(at, length)| microseconds(spread.time(at, length, Some(1e6))));
        assert_eq!(found, [0, 1000, 2000, 5000, 6000]);
        assert_eq!(microseconds(spread.time(later, 1000, None)), 6000);
        // The pacer may forget how much it has sent, and begin a burst before the one before has ended.
        assert_eq!(microseconds(spread.time(start, 1000, Some(1e6))), 6000);
    }
}
