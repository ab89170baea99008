//! Slow start and what comes after it, of captures made to order.

mod common;

use common::{Made, capture, measure_capture, server_packets};
use quiclab_metrics::{PacingMetrics, SlowStartEnd};

const MILLISECOND: u64 = 1_000_000;
const PAYLOAD: [u8; 1_000] = [7; 1_000];
/// Ethernet, IP and TCP in front of it.
const FRAME_BYTES: u64 = 1_054;

/// 8 trains of 12 segments 10 µs apart, one every 10 ms; then 100 segments 2 ms apart, the first of which is `repeated` again.
fn tcp(repeated: Option<u32>) -> Vec<Made> {
    let mut packets = Vec::new();
    for number in 0..96_u32 {
        let time = u64::from(number / 12) * 10 * MILLISECOND + u64::from(number % 12) * 10_000;
        packets.push(Made::tcp_data_from_server(time, number * 1_000, &PAYLOAD));
    }
    for number in 0..100_u32 {
        let time = (200 + 2 * u64::from(number)) * MILLISECOND;
        let sequence = repeated.filter(|_| number == 0).unwrap_or(96 + number);
        packets.push(Made::tcp_data_from_server(time, sequence * 1_000, &PAYLOAD));
    }
    packets
}

#[test]
fn the_first_retransmission_of_tcp_begins_the_steady_state() {
    let run = measure_capture(&capture(&tcp(Some(40))));
    let end = run.slow_start.unwrap();
    assert_eq!(end.ended_by, SlowStartEnd::Retransmission);
    assert_eq!(end.evidence, "data were sent again at 200.000 ms for the first time");
    let metrics = run.metrics;
    assert_eq!((metrics.packets_sent, metrics.packets_retransmitted), (Some(196), Some(1)));
    assert_eq!(metrics.slow_start_end_ns, Some(200 * MILLISECOND));
    let (slow_start, steady) = (metrics.slow_start, metrics.steady);
    assert_eq!((slow_start.packets_sent, steady.packets_sent), (Some(96), Some(100)));
    assert_eq!((slow_start.train_max_packets, steady.train_max_packets), (Some(12), Some(1)));
    assert_eq!((slow_start.burst_max_bytes, steady.burst_max_bytes), (Some(12 * FRAME_BYTES), Some(FRAME_BYTES)));
    assert_eq!(slow_start.gap_share_below_100us, Some(88.0 / 95.0));
    assert_eq!((steady.gap_share_below_100us, steady.gap_median_ns), (Some(0.0), Some(2 * MILLISECOND)));
    assert_eq!((slow_start.duration_ns, steady.duration_ns), (Some(70_110_000), Some(198 * MILLISECOND)));
    // 100 frames in 198 ms.
    let throughput = (100 * FRAME_BYTES * 8) as f64 / 0.198;
    assert!((steady.throughput_bps.unwrap() / throughput - 1.0).abs() < 1e-12);
    // All bursts are before the boundary, and each is a batch.
    assert_eq!((metrics.burst_share_of_packets, slow_start.burst_share_of_packets), (Some(96.0 / 196.0), Some(1.0)));
    assert_eq!((slow_start.burst_share_batch, steady.burst_share_batch), (Some(1.0), None));
    assert_eq!(steady.burst_share_of_packets, Some(0.0));
}

#[test]
fn tcp_without_a_retransmission_is_slow_start_to_its_end() {
    let run = measure_capture(&capture(&tcp(None)));
    assert_eq!(run.slow_start.unwrap().ended_by, SlowStartEnd::NotSeen);
    let metrics = run.metrics;
    assert_eq!((metrics.slow_start_end_ns, metrics.slow_start.packets_sent), (None, Some(196)));
    assert_eq!(metrics.steady, PacingMetrics::default());
    // The whole flow, by the same names.
    for name in PacingMetrics::NAMES {
        assert_eq!(metrics.value(&format!("slow_start_{name}")), metrics.value(name), "{name}");
    }
}

#[test]
fn quic_without_keys_has_no_phases() {
    let run = measure_capture(&server_packets(&(0..50).map(|packet| packet * MILLISECOND).collect::<Vec<_>>()));
    assert_eq!(run.slow_start.unwrap().ended_by, SlowStartEnd::Unknown);
    assert_eq!(run.metrics.packets_sent, Some(50));
    assert_eq!((run.metrics.slow_start, run.metrics.steady), (PacingMetrics::default(), PacingMetrics::default()));
    assert_eq!(run.metrics.slow_start_end_ns, None);
}
