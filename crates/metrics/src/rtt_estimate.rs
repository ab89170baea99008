//! The round-trip time of a sender and its probe timeout, as RFC 9002 computes them.

use quiclab_units::Duration;

/// `kInitialRtt`, RFC 9002 section 6.2.2.
pub const INITIAL_RTT: Duration = Duration::from_millis(333);
/// `kGranularity`, RFC 9002 section 6.1.2.
pub const GRANULARITY: Duration = Duration::from_millis(1);

/// What a sender knows of the round-trip time of its path.
///
/// In whole nanoseconds, rounded down at each step, so that it is the same on every machine. The order of the steps is that of RFC 9002 appendix A.7
/// and RFC 6298 section 2.3: the variation first, with the smoothed time before this sample. (Section 5.3 prints them the other way round, which its
/// erratum 7539 corrects.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttEstimate {
    initial: Duration,
    known: Option<Known>,
}

/// What is known after the first sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    latest: Duration,
    minimum: Duration,
    smoothed: Duration,
    variation: Duration,
}

impl Default for RttEstimate {
    fn default() -> Self {
        Self::new(INITIAL_RTT)
    }
}

impl RttEstimate {
    /// An estimate without samples. `initial` stands in for the smoothed time until there is one.
    pub const fn new(initial: Duration) -> Self {
        Self { initial, known: None }
    }

    /// A sample; `ack_delay` is what the peer says it waited, already limited to its `max_ack_delay` where section 5.3 asks for it. The first sample
    /// disregards it. Returns what the sample counted as: without the delay, unless that would be below the smallest.
    pub fn on_sample(&mut self, latest: Duration, ack_delay: Duration) -> Duration {
        let Some(known) = &mut self.known else {
            let variation = Duration::from_nanos(latest.as_nanos() / 2);
            self.known = Some(Known { latest, minimum: latest, smoothed: latest, variation });
            return latest;
        };
        known.latest = latest;
        known.minimum = known.minimum.min(latest);
        let [latest_ns, delay_ns] = [latest, ack_delay].map(Duration::as_nanos);
        let is_credible = latest_ns >= known.minimum.as_nanos().saturating_add(delay_ns);
        let adjusted = if is_credible { latest - ack_delay } else { latest };
        let difference = Duration::from_nanos(known.smoothed.as_nanos().abs_diff(adjusted.as_nanos()));
        known.variation = weighted(3, known.variation, difference);
        known.smoothed = weighted(7, known.smoothed, adjusted);
        adjusted
    }

    /// `latest_rtt`; `None` without samples.
    pub fn latest(&self) -> Option<Duration> {
        self.known.map(|known| known.latest)
    }

    /// `min_rtt`; `None` without samples.
    pub fn minimum(&self) -> Option<Duration> {
        self.known.map(|known| known.minimum)
    }

    /// `smoothed_rtt`; `None` without samples.
    pub fn smoothed(&self) -> Option<Duration> {
        self.known.map(|known| known.smoothed)
    }

    /// `rttvar`; `None` without samples.
    pub fn variation(&self) -> Option<Duration> {
        self.known.map(|known| known.variation)
    }

    /// The probe timeout without back-off, RFC 9002 section 6.2.1. `max_ack_delay` is that of the peer for application data, and 0 for Initial and
    /// Handshake packets.
    pub fn pto(&self, max_ack_delay: Duration) -> Duration {
        let (smoothed, variation) = match self.known {
            Some(known) => (known.smoothed, known.variation),
            None => (self.initial, Duration::from_nanos(self.initial.as_nanos() / 2)),
        };
        let margin = variation.as_nanos().saturating_mul(4).max(GRANULARITY.as_nanos());
        let sum = smoothed.as_nanos().saturating_add(margin).saturating_add(max_ack_delay.as_nanos());
        Duration::from_nanos(sum)
    }
}

/// `weight` parts of the old value and one of the new.
fn weighted(weight: u64, old: Duration, new: Duration) -> Duration {
    let sum = u128::from(old.as_nanos()) * u128::from(weight) + u128::from(new.as_nanos());
    let mean = sum / u128::from(weight + 1);
    Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Duration = Duration::ZERO;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn after(samples: &[(u64, u64)]) -> RttEstimate {
        let mut estimate = RttEstimate::default();
        for (latest, delay) in samples {
            estimate.on_sample(ms(*latest), ms(*delay));
        }
        estimate
    }

    #[test]
    fn without_a_sample_the_timeout_is_three_initial_round_trips() {
        // RFC 9002 sections 6.2.1 and 6.2.2.
        assert_eq!(RttEstimate::default().pto(NONE), ms(999));
        assert_eq!(RttEstimate::new(ms(100)).pto(NONE), ms(300));
    }

    /// The reason for instant acknowledgments: the first sample counts threefold, with what the peer waited, whatever it says.
    #[test]
    fn the_first_timeout_is_three_samples_and_disregards_the_delay() {
        // RFC 9002 sections 5.3 and 6.2.1.
        for delay in [0, 4, 9] {
            assert_eq!(after(&[(9, delay)]).pto(NONE), ms(27));
        }
        assert_eq!(after(&[(9, 0)]).pto(ms(25)), ms(52));
        assert_eq!(after(&[(13, 0)]).pto(NONE).as_nanos() - after(&[(9, 0)]).pto(NONE).as_nanos(), 3 * 4_000_000);
    }

    #[test]
    fn the_second_sample_is_that_of_appendix_a_7() {
        // RFC 9002 appendix A.7.
        // rttvar = 3/4 * 4 + 1/4 * |8 - 16| = 5; smoothed_rtt = 7/8 * 8 + 1/8 * 16 = 9.
        let estimate = after(&[(8, 0), (16, 0)]);
        assert_eq!((estimate.variation(), estimate.smoothed()), (Some(ms(5)), Some(ms(9))));
        assert_eq!(estimate.pto(NONE), ms(29));
    }

    #[test]
    fn a_delay_counts_unless_the_sample_would_be_below_the_smallest() {
        // RFC 9002 section 5.3.
        assert_eq!(after(&[(8, 0), (16, 8)]).smoothed(), Some(ms(8)));
        assert_eq!(after(&[(8, 0), (16, 9)]).smoothed(), Some(ms(9)));
    }

    /// Samples that are all equal have a closed form, after n of them: smoothed_rtt = s and rttvar = s/2 * (3/4)^(n-1).
    #[test]
    fn equal_samples_follow_the_closed_form_down_to_the_granularity() {
        let mut estimate = RttEstimate::default();
        for number in 0..200 {
            estimate.on_sample(ms(9), NONE);
            let variation = 4.5e6 * 0.75_f64.powi(number);
            let expected = 9e6 + (4.0 * variation).max(1e6);
            let found = estimate.pto(NONE).as_nanos() as f64;
            assert!((found - expected).abs() < 20.0, "sample {number}: {found}, expected {expected}");
        }
        assert_eq!(estimate.pto(NONE), ms(10));
    }

    #[test]
    fn times_near_the_largest_do_not_overflow() {
        let mut estimate = RttEstimate::default();
        for _ in 0..4 {
            estimate.on_sample(Duration::from_nanos(u64::MAX), Duration::from_nanos(u64::MAX));
        }
        assert_eq!(estimate.pto(ms(25)), Duration::from_nanos(u64::MAX));
    }
}
