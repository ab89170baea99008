//! `peak_to_mean_*`: the highest rate over a short window, divided by the mean rate.

use std::collections::VecDeque;

use quiclab_units::Time;

/// Most bytes in any window of one length. A window ends with a packet and holds those less than its length before it.
#[derive(Clone)]
pub(crate) struct PeakMeter {
    window_ns: u64,
    inside: VecDeque<(Time, u32)>,
    bytes: u64,
    most_bytes: u64,
}

impl PeakMeter {
    pub(crate) fn new(window_ns: u64) -> Self {
        PeakMeter { window_ns, inside: VecDeque::new(), bytes: 0, most_bytes: 0 }
    }

    pub(crate) fn on_packet(&mut self, time: Time, frame_bytes: u32) {
        while let Some((first, first_bytes)) = self.inside.front() {
            // Where the time runs backwards, nothing leaves.
            if time.checked_since(*first).is_none_or(|age| age.as_nanos() < self.window_ns) {
                break;
            }
            self.bytes -= u64::from(*first_bytes);
            self.inside.pop_front();
        }
        self.inside.push_back((time, frame_bytes));
        self.bytes += u64::from(frame_bytes);
        self.most_bytes = self.most_bytes.max(self.bytes);
    }

    /// `None` where the flow is not longer than the window: then the window says nothing.
    pub(crate) fn peak_to_mean(&self, all_bytes: u64, duration_ns: u64) -> Option<f64> {
        (duration_ns > self.window_ns).then(|| {
            let mean = all_bytes as f64 / duration_ns as f64;
            self.most_bytes as f64 / self.window_ns as f64 / mean
        })
    }
}

#[cfg(test)]
mod tests {
    use super::PeakMeter;
    use quiclab_units::Time;

    #[test]
    fn an_even_flow_has_its_peak_near_its_mean() {
        let mut meter = PeakMeter::new(1_000_000);
        (0..10_001_u64).for_each(|packet| meter.on_packet(Time::from_nanos(packet * 100_000), 1_000));
        // Ten packets in any window; 10 001 packets in 10 000 gaps.
        let ratio = meter.peak_to_mean(10_001_000, 1_000_000_000).unwrap();
        assert!((ratio - 10_000.0 / 10_001.0).abs() < 1e-12, "{ratio}");
    }

    #[test]
    fn a_window_does_not_hold_what_is_as_old_as_it_is_long() {
        let mut meter = PeakMeter::new(100);
        for time in [0, 99, 100] {
            meter.on_packet(Time::from_nanos(time), 10);
        }
        assert_eq!(meter.most_bytes, 20);
    }

    #[test]
    fn a_flow_no_longer_than_the_window_has_no_peak() {
        let meter = PeakMeter::new(100);
        assert_eq!(meter.peak_to_mean(10, 100), None);
        assert!(meter.peak_to_mean(10, 101).is_some());
    }
}
