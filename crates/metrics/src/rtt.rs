//! `rtt_*`, `smoothed_rtt_ns`: round-trip times from the tap to the peer and back.

use quiclab_units::{Duration, Time};

use crate::output::RunMetrics;
use crate::rtt_estimate::RttEstimate;
use crate::samples::Samples;
use crate::series::Series;

/// The samples of one sender.
#[derive(Default)]
pub(crate) struct RttMeter {
    samples: Samples,
    estimate: RttEstimate,
    pub(crate) series: Series,
}

impl RttMeter {
    /// A sample that ends now. `delay_ns`: of the peer, to be taken off before smoothing where the sample allows it, RFC
    /// 9002 section 5.3; 0 for TCP, RFC 6298 section 2, which smooths with the same weight.
    pub(crate) fn on_sample(&mut self, time: Time, rtt_ns: u64, delay_ns: u64) {
        self.samples.add(rtt_ns);
        self.series.add(time, rtt_ns);
        self.estimate.on_sample(Duration::from_nanos(rtt_ns), Duration::from_nanos(delay_ns));
    }

    pub(crate) fn count(&self) -> u64 {
        self.samples.count()
    }

    pub(crate) fn smoothed_ns(&self) -> Option<u64> {
        self.estimate.smoothed().map(Duration::as_nanos)
    }

    /// `kTimeThreshold` (9/8) of the larger of the latest and the smoothed one, RFC 9002 section 6.1.2. 0 without samples.
    pub(crate) fn loss_delay_ns(&self) -> u64 {
        let rtt = self.estimate.latest().max(self.estimate.smoothed()).unwrap_or_default();
        u64::try_from(u128::from(rtt.as_nanos()) * 9 / 8).unwrap_or(u64::MAX)
    }

    pub(crate) fn finish(&mut self, run: &mut RunMetrics) {
        let metrics = &mut run.metrics;
        metrics.rtt_samples = Some(self.samples.count());
        metrics.rtt_min_ns = self.samples.minimum();
        metrics.rtt_median_ns = self.samples.median();
        metrics.rtt_p95_ns = self.samples.quantile(0.95);
        metrics.rtt_max_ns = self.samples.maximum();
        metrics.smoothed_rtt_ns = self.smoothed_ns();
        run.distributions.rtt_ns = self.samples.log_bins();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn smoothed(samples: &[(u64, u64)]) -> Option<u64> {
        let mut meter = RttMeter::default();
        samples.iter().for_each(|(rtt, delay)| meter.on_sample(Time::default(), *rtt, *delay));
        meter.smoothed_ns()
    }

    /// RFC 9002 section 5.3: adjusted_rtt = latest_rtt; if (latest_rtt >= min_rtt + ack_delay) adjusted_rtt = latest_rtt -
    /// ack_delay; smoothed_rtt = 7/8 * smoothed_rtt + 1/8 * adjusted_rtt.
    #[test]
    fn smoothing_is_that_of_rfc_9002() {
        assert_eq!(smoothed(&[(800, 50)]), Some(800));
        assert_eq!(smoothed(&[(800, 0), (1_600, 0)]), Some(900));
        assert_eq!(smoothed(&[(800, 0), (1_600, 800)]), Some(800));
        // 1 ns more of delay than the sample has above the smallest: it cannot be right.
        assert_eq!(smoothed(&[(800, 0), (1_600, 801)]), Some(900));
    }

    #[test]
    fn losses_wait_for_nine_eighths() {
        // RFC 9002 section 6.1.2.
        let mut meter = RttMeter::default();
        assert_eq!(meter.loss_delay_ns(), 0);
        meter.on_sample(Time::default(), 800, 0);
        assert_eq!(meter.loss_delay_ns(), 900);
        meter.on_sample(Time::default(), 80, 0);
        // Smoothed: 710.
        assert_eq!(meter.loss_delay_ns(), 798);
    }
}
