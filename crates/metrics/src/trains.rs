//! `train_*`: packets that leave close together.
//!
//! A train is a maximal run of packets in which every gap is strictly below the threshold; a lone packet is a train of 1.

use std::collections::BTreeMap;

use crate::Input;
use crate::gaps::gaps_ns;
use crate::output::RunMetrics;

/// The length in the metrics whose names end in `le_5`.
const SHORT_TRAIN_PACKETS: u64 = 5;

pub(crate) fn measure(input: &Input, run: &mut RunMetrics) {
    if input.flow.packets.is_empty() {
        return;
    }
    let threshold_ns = input.observation.train_threshold.as_nanos();
    let trains = train_lengths(gaps_ns(&input.flow.packets), threshold_ns);
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
    run.distributions.trains = trains.into_iter().collect();
}

/// Number of trains by length, of the packets between and around these gaps. A gap that runs backwards (`None`) is below
/// any threshold.
fn train_lengths(gaps: impl Iterator<Item = Option<u64>>, threshold_ns: u64) -> BTreeMap<u64, u64> {
    let mut lengths = BTreeMap::new();
    let mut current = 1;
    for gap in gaps {
        if gap.is_none_or(|gap| gap < threshold_ns) {
            current += 1;
        } else {
            *lengths.entry(current).or_insert(0) += 1;
            current = 1;
        }
    }
    *lengths.entry(current).or_insert(0) += 1;
    lengths
}

#[cfg(test)]
mod tests {
    use super::train_lengths;

    fn lengths(gaps: &[u64], threshold_ns: u64) -> Vec<(u64, u64)> {
        train_lengths(gaps.iter().copied().map(Some), threshold_ns).into_iter().collect()
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
}
