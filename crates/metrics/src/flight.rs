//! `bytes_in_flight_*`: what was sent and is neither acknowledged nor lost.

use quiclab_units::Time;

use crate::metrics::Metrics;
use crate::series::Series;

/// Bytes in flight over time.
#[derive(Default)]
pub(crate) struct FlightMeter {
    bytes: u64,
    most_bytes: u64,
    /// Bytes x ns, up to `since`.
    area: u128,
    since: Option<Time>,
    measured_ns: u64,
    /// The capture began in the middle of the connection, and not all that is in flight was captured.
    is_partial: bool,
    pub(crate) series: Series,
}

impl FlightMeter {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Notes that not everything in flight was captured: nothing is measured until [`begin`](Self::begin).
    pub(crate) fn wait(&mut self) {
        self.is_partial = true;
    }

    /// Notes that everything in flight was captured from now on.
    pub(crate) fn begin(&mut self) {
        self.is_partial = false;
    }

    /// Whether [`bytes`](Self::bytes) are all that is in flight.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_partial
    }

    /// Sets how many bytes are in flight from now on. Where the time runs backwards, no time has passed.
    pub(crate) fn set(&mut self, time: Time, bytes: u64) {
        if self.is_partial {
            self.bytes = bytes;
            return;
        }
        let span = self.since.and_then(|since| time.checked_since(since)).map_or(0, |span| span.as_nanos());
        self.area += u128::from(self.bytes) * u128::from(span);
        self.measured_ns += span;
        self.since = Some(time);
        self.bytes = bytes;
        self.most_bytes = self.most_bytes.max(bytes);
        self.series.add(time, bytes);
    }

    pub(crate) fn finish(&self, metrics: &mut Metrics) {
        if self.is_partial {
            return;
        }
        metrics.bytes_in_flight_max = Some(self.most_bytes);
        metrics.bytes_in_flight_mean = (self.measured_ns > 0).then(|| self.area as f64 / self.measured_ns as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_over_time_and_not_over_changes() {
        let mut meter = FlightMeter::default();
        for (time, bytes) in [(100, 10), (200, 0), (500, 40), (600, 0)] {
            meter.set(Time::from_nanos(time), bytes);
        }
        let mut metrics = Metrics::default();
        meter.finish(&mut metrics);
        // 100 ns of 10, 300 of 0, 100 of 40.
        assert_eq!(metrics.bytes_in_flight_mean, Some(10.0));
        assert_eq!(metrics.bytes_in_flight_max, Some(40));
    }

    #[test]
    fn nothing_is_measured_before_everything_in_flight_was_captured() {
        let mut meter = FlightMeter::default();
        meter.wait();
        meter.set(Time::from_nanos(100), 90);
        let mut metrics = Metrics::default();
        meter.finish(&mut metrics);
        assert_eq!((metrics.bytes_in_flight_max, metrics.bytes_in_flight_mean), (None, None));
        meter.begin();
        for (time, bytes) in [(200, 10), (300, 30), (400, 0)] {
            meter.set(Time::from_nanos(time), bytes);
        }
        meter.finish(&mut metrics);
        assert_eq!((metrics.bytes_in_flight_max, metrics.bytes_in_flight_mean), (Some(30), Some(20.0)));
    }

    #[test]
    fn an_instant_has_no_mean() {
        let mut meter = FlightMeter::default();
        meter.set(Time::from_nanos(5), 10);
        let mut metrics = Metrics::default();
        meter.finish(&mut metrics);
        assert_eq!((metrics.bytes_in_flight_max, metrics.bytes_in_flight_mean), (Some(10), None));
    }
}
