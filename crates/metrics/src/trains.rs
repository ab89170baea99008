//! `train_*`, `burst_*`: packets that leave close together.
//!
//! A train is a maximal run of packets in which every gap is strictly below the threshold; a lone packet is a train of 1.

use std::collections::BTreeMap;

use crate::gaps::Gap;
use crate::output::RunMetrics;

/// The length in the metrics whose names end in `le_5`. Longer trains are bursts.
pub const SHORT_TRAIN_PACKETS: u64 = 5;

/// The trains of one sender.
#[derive(Clone)]
pub(crate) struct TrainMeter {
    threshold_ns: u64,
    /// Number of trains by length.
    lengths: BTreeMap<u64, u64>,
    current: u64,
    current_bytes: u64,
    largest_bytes: u64,
    all_bytes: u64,
}

impl TrainMeter {
    pub(crate) fn new(threshold_ns: u64) -> Self {
        TrainMeter {
            threshold_ns,
            lengths: BTreeMap::new(),
            current: 0,
            current_bytes: 0,
            largest_bytes: 0,
            all_bytes: 0,
        }
    }

    /// A gap that runs backwards is below any threshold. Gives whether the packet begins a train.
    pub(crate) fn on_packet(&mut self, gap: Gap, frame_bytes: u64) -> bool {
        let begins = match gap {
            Gap::None => true,
            Gap::Backwards => false,
            Gap::Of(gap) => gap >= self.threshold_ns,
        };
        if begins {
            self.close();
        }
        self.current += 1;
        self.current_bytes += frame_bytes;
        begins
    }

    fn close(&mut self) {
        if self.current > 0 {
            *self.lengths.entry(self.current).or_insert(0) += 1;
        }
        self.largest_bytes = self.largest_bytes.max(self.current_bytes);
        self.all_bytes += self.current_bytes;
        self.current = 0;
        self.current_bytes = 0;
    }

    pub(crate) fn finish(mut self, run: &mut RunMetrics) {
        self.close();
        if self.lengths.is_empty() {
            return;
        }
        let trains = self.lengths;
        let count = |select: &dyn Fn(u64) -> bool, weight: &dyn Fn(u64) -> u64| -> u64 {
            let selected = trains.iter().filter(|(length, _)| select(**length));
            selected.map(|(length, number)| weight(*length) * number).sum()
        };
        let packets = |select: &dyn Fn(u64) -> bool| count(select, &|length| length);
        let all_packets = packets(&|_| true) as f64;
        let all_trains = count(&|_| true, &|_| 1) as f64;
        let is_short = |length| length <= SHORT_TRAIN_PACKETS;

        let metrics = &mut run.metrics;
        metrics.train_share_of_packets_1 = Some(packets(&|length| length == 1) as f64 / all_packets);
        metrics.train_share_of_packets_le_5 = Some(packets(&is_short) as f64 / all_packets);
        metrics.train_share_of_trains_le_5 = Some(count(&is_short, &|_| 1) as f64 / all_trains);
        metrics.train_max_packets = trains.keys().next_back().copied();
        metrics.burst_max_bytes = Some(self.largest_bytes);
        metrics.burst_mean_bytes = Some(self.all_bytes as f64 / all_trains);
        run.distributions.trains = trains.into_iter().collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(gaps: &[u64], threshold_ns: u64) -> Vec<(u64, u64)> {
        let mut meter = TrainMeter::new(threshold_ns);
        meter.on_packet(Gap::None, 10);
        for gap in gaps {
            meter.on_packet(Gap::Of(*gap), 10);
        }
        let mut run = RunMetrics::empty();
        meter.finish(&mut run);
        run.distributions.trains
    }

    #[test]
    fn a_lone_packet_is_a_train_of_one() {
        assert_eq!(lengths(&[], 100), [(1, 1)]);
    }

    #[test]
    fn a_gap_just_below_the_threshold_joins_and_one_at_it_parts() {
        assert_eq!(lengths(&[99_999], 100_000), [(2, 1)]);
        assert_eq!(lengths(&[100_000], 100_000), [(1, 2)]);
    }

    #[test]
    fn trains_are_as_long_as_they_can_be() {
        assert_eq!(lengths(&[1, 1, 500, 1, 500, 1], 100), [(2, 2), (3, 1)]);
    }

    #[test]
    fn a_threshold_of_zero_parts_everything() {
        assert_eq!(lengths(&[0, 0, 5], 0), [(1, 4)]);
    }

    #[test]
    fn a_burst_has_the_bytes_of_its_train() {
        let mut meter = TrainMeter::new(100);
        for (gap, bytes) in [(Gap::None, 5), (Gap::Of(99), 7), (Gap::Of(100), 3)] {
            meter.on_packet(gap, bytes);
        }
        let mut run = RunMetrics::empty();
        meter.finish(&mut run);
        assert_eq!((run.metrics.burst_max_bytes, run.metrics.burst_mean_bytes), (Some(12), Some(7.5)));
    }
}
