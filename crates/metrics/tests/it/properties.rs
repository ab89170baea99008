//! What must hold for any packets.

use crate::common::{analyzed, measure_capture, packets_at, pcapng};
use proptest::prelude::*;
use quiclab_metrics::{AnalysisSettings, RunMetrics};
use quiclab_units::Duration;

/// Gaps of every size from the same nanosecond to a second, many of them around the threshold.
fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..50_u64, 10_000..15_000_u64, 99_990..100_010_u64, 100_000..1_000_000_000_u64]
}

fn measured(gaps: &[u64], threshold_ns: u64) -> RunMetrics {
    let mut times = vec![1_000];
    times.extend(gaps.iter().scan(1_000, |time, gap| {
        *time += gap;
        Some(*time)
    }));
    let settings =
        AnalysisSettings { train_threshold: Duration::from_nanos(threshold_ns), ..AnalysisSettings::default() };
    measure_capture(&analyzed(&pcapng(&packets_at(&times)), settings))
}

proptest! {
    #[test]
    fn trains_hold_every_packet_once(gaps in prop::collection::vec(gap(), 0..60), threshold in gap()) {
        let run = measured(&gaps, threshold);
        let packets = gaps.len() as u64 + 1;
        let trains = &run.distributions.trains;
        prop_assert_eq!(run.metrics.packets_sent, Some(packets));
        prop_assert_eq!(trains.iter().map(|(length, number)| length * number).sum::<u64>(), packets);
        let joined = gaps.iter().filter(|gap| **gap < threshold).count() as u64;
        prop_assert_eq!(trains.iter().map(|(_, number)| number).sum::<u64>(), packets - joined);
        prop_assert_eq!(run.metrics.train_max_packets, trains.last().map(|(length, _)| *length));
        prop_assert!(trains.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn shares_are_shares_and_grow_with_their_bound(gaps in prop::collection::vec(gap(), 0..60)) {
        let metrics = measured(&gaps, 100_000).metrics;
        let [one, five, trains] = [
            metrics.train_share_of_packets_1,
            metrics.train_share_of_packets_le_5,
            metrics.train_share_of_trains_le_5,
        ].map(Option::unwrap);
        prop_assert!(0.0 <= one && one <= five && five <= 1.0);
        // Short trains are the smaller ones, so they are a larger part of the trains than of the packets.
        prop_assert!(five <= trains && trains <= 1.0);
        if metrics.train_max_packets <= Some(5) {
            prop_assert_eq!(five, 1.0);
        }
    }

    #[test]
    fn gaps_are_one_fewer_than_packets_and_last_as_long_as_the_flow(gaps in prop::collection::vec(gap(), 0..60)) {
        let run = measured(&gaps, 100_000);
        let bins = &run.distributions.gaps_ns;
        prop_assert_eq!(bins.iter().map(|(_, count)| count).sum::<u64>(), gaps.len() as u64);
        prop_assert_eq!(run.metrics.duration_ns, Some(gaps.iter().sum::<u64>()));
        prop_assert_eq!(run.metrics.gap_median_ns.is_some(), !gaps.is_empty());
        // 100000 ns is an edge, so bins and share must agree but for gaps of exactly that.
        let below = bins.iter().filter(|(edge, _)| *edge <= 100_000).map(|(_, count)| count).sum::<u64>();
        let at = gaps.iter().filter(|gap| **gap == 100_000).count() as u64;
        let share = (!gaps.is_empty()).then(|| (below - at) as f64 / gaps.len() as f64);
        prop_assert_eq!(run.metrics.gap_share_below_100us, share);
    }

    #[test]
    fn the_median_has_half_of_the_gaps_on_either_side(gaps in prop::collection::vec(gap(), 1..60)) {
        let median = measured(&gaps, 100_000).metrics.gap_median_ns.unwrap();
        let half = gaps.len().div_ceil(2);
        prop_assert!(gaps.iter().filter(|gap| **gap <= median).count() >= gaps.len() / 2);
        prop_assert!(gaps.iter().filter(|gap| **gap >= median).count() >= half);
    }

    #[test]
    fn metrics_survive_json(gaps in prop::collection::vec(gap(), 0..60)) {
        let run = measured(&gaps, 100_000);
        prop_assert_eq!(RunMetrics::from_json(&run.to_json()).unwrap(), run);
    }
}
