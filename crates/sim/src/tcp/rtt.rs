//! The retransmission timeout (RFC 6298).

use quiclab_units::Duration;

/// Round-trip time and timeout of one sender.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    settings: RtoSettings,
    /// Nanoseconds; `None` before the first sample.
    smoothed: Option<u64>,
    variation: u64,
    least: Option<Duration>,
    /// How often the timeout was doubled since the last sample.
    backoffs: u32,
}

/// Bounds of the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoSettings {
    /// Timeout before there is a sample: 1 s (section 2.1).
    pub initial: Duration,
    /// 1 s (section 2.4); Linux has 200 ms.
    pub least: Duration,
    /// 60 s or more (section 2.5).
    pub most: Duration,
    /// `G`: how exact the clock is (section 2).
    pub granularity: Duration,
}

impl Default for RtoSettings {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            least: Duration::from_secs(1),
            most: Duration::from_secs(60),
            granularity: Duration::from_millis(1),
        }
    }
}

impl RttEstimator {
    /// Makes an estimator without a sample.
    pub fn new(settings: RtoSettings) -> Self {
        Self { settings, smoothed: None, variation: 0, least: None, backoffs: 0 }
    }

    /// Takes in a sample: without timestamps, of a segment that was sent once (Karn's algorithm, RFC 6298, section 3).
    pub fn on_sample(&mut self, sample: Duration) {
        self.least = Some(self.least.map_or(sample, |least| least.min(sample)));
        let sample = sample.as_nanos();
        match self.smoothed {
            None => {
                self.smoothed = Some(sample);
                self.variation = sample / 2;
            }
            // RFC 6298, section 2.3: beta is 1/4, alpha is 1/8, and the variation comes first.
            Some(smoothed) => {
                self.variation = (3 * self.variation + smoothed.abs_diff(sample)) / 4;
                self.smoothed = Some((7 * smoothed + sample) / 8);
            }
        }
        self.backoffs = 0;
    }

    /// The timer has expired (section 5.5).
    pub fn on_timeout(&mut self) {
        self.backoffs = self.backoffs.saturating_add(1);
    }

    /// `SRTT`; `None` before the first sample.
    pub fn smoothed(&self) -> Option<Duration> {
        self.smoothed.map(Duration::from_nanos)
    }

    /// The smallest sample so far.
    pub fn least(&self) -> Option<Duration> {
        self.least
    }

    /// `RTO`.
    pub fn timeout(&self) -> Duration {
        let base = match self.smoothed {
            None => self.settings.initial.as_nanos(),
            Some(smoothed) => smoothed + self.settings.granularity.as_nanos().max(4 * self.variation),
        };
        let least = base.max(self.settings.least.as_nanos());
        let doubled = least.checked_shl(self.backoffs.min(32)).unwrap_or(u64::MAX);
        Duration::from_nanos(doubled.min(self.settings.most.as_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_the_samples_and_backs_off() {
        // RFC 6298, sections 2 and 5.5.
        let mut rtt = RttEstimator::new(RtoSettings { least: Duration::ZERO, ..RtoSettings::default() });
        assert_eq!(rtt.timeout(), Duration::from_secs(1));
        rtt.on_sample(Duration::from_millis(100));
        assert_eq!(rtt.timeout(), Duration::from_millis(300));
        rtt.on_sample(Duration::from_millis(180));
        // RTTVAR = (3 x 50 + 80) / 4 = 57.5, SRTT = (7 x 100 + 180) / 8 = 110.
        assert_eq!(rtt.smoothed(), Some(Duration::from_millis(110)));
        assert_eq!(rtt.timeout(), Duration::from_millis(340));
        rtt.on_timeout();
        assert_eq!(rtt.timeout(), Duration::from_millis(680));
        for _ in 0..40 {
            rtt.on_timeout();
        }
        assert_eq!(rtt.timeout(), Duration::from_secs(60));
        rtt.on_sample(Duration::from_millis(110));
        assert_eq!(rtt.timeout(), Duration::from_micros(110_000 + 4 * 43_125));
    }
}
