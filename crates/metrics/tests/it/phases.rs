//! Slow start and what comes after it, of captures made to order.

use crate::common::{Made, capture, measure_capture, server_packets};
use quiclab_metrics::{AnalysisSettings, DirectionAnalysis, PacingMetrics, SlowStartEnd, analyze};
use quiclab_units::Duration;
use quiclab_wire::{CaptureReader, Dissector, DissectorSettings, Role};

const MILLISECOND: u64 = 1_000_000;
const PAYLOAD: [u8; 1_000] = [7; 1_000];
/// Ethernet, IP and TCP in front of it.
const FRAME_BYTES: u64 = 1_054;

/// A SYN of the client, of which nothing else was captured; then from the server 8 trains of 12 segments 10 µs apart, one every 10 ms; then 100 segments 2 ms apart, the first of which is `repeated` again.
fn tcp(repeated: Option<u32>) -> Vec<Made> {
    let mut packets = vec![Made::tcp_syn_from_client(0)];
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
    assert_eq!(end.evidence, "data was retransmitted for the first time at 200.000 ms");
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
    // All bursts are before the boundary. Their causes take the client's acknowledgments, the boundary does not.
    assert_eq!((metrics.burst_share_of_packets, slow_start.burst_share_of_packets), (Some(96.0 / 196.0), Some(1.0)));
    assert_eq!((slow_start.burst_share_batch, steady.burst_share_batch), (None, None));
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

/// The first 0.55 s of a transfer that lost its first packet in slow start.
const PICOQUIC: &[u8] = include_bytes!("../data/picoquic-bbr-time-stamp.pcapng");

fn picoquic(settings: AnalysisSettings) -> DirectionAnalysis {
    let reader = CaptureReader::new(PICOQUIC).unwrap();
    let capture = analyze(reader, Dissector::new(DissectorSettings::default()), settings, &mut |_, _, _| {}).unwrap();
    capture.directions.into_iter().find(|direction| direction.sender == Role::Server).unwrap()
}

#[test]
fn the_ack_that_declares_the_first_loss_parts_the_phases_of_quic() {
    let run = picoquic(AnalysisSettings::default()).run;
    assert_eq!(run.slow_start.as_ref().unwrap().ended_by, SlowStartEnd::FirstLoss);
    let metrics = &run.metrics;
    let end = metrics.slow_start_end_ns.unwrap();
    // The loss is known one RTT after the packet that was lost: 41 to 90 ms on this path.
    let evidence = &run.slow_start.as_ref().unwrap().evidence;
    let milliseconds: Vec<f64> = evidence.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    let [number, sent, declared] = milliseconds[..] else { panic!("{evidence}") };
    assert!((41.0..90.0).contains(&(declared - sent)), "{evidence}");
    assert!((declared - end as f64 / 1e6).abs() < 1e-3, "{evidence}");
    // Packet numbers rise by one, and the handshake's packets have their own.
    let sent_then = metrics.slow_start.packets_sent.unwrap();
    assert!((number as u64) < sent_then, "{evidence}, {sent_then} in slow start");
    assert_eq!(sent_then + metrics.steady.packets_sent.unwrap(), metrics.packets_sent.unwrap());
    // Its bursts grow in slow start, and BBR paces evenly afterwards.
    assert!(metrics.slow_start.gap_share_below_100us > metrics.steady.gap_share_below_100us);
}

#[test]
fn windows_of_the_capture_on_both_sides_of_the_boundary_add_up_to_the_phases() {
    let metrics = picoquic(AnalysisSettings::default()).run.metrics;
    // Windows count from the client's first packet.
    let window = Duration::from_nanos(metrics.slow_start_end_ns.unwrap() + metrics.handshake_first_reply_ns.unwrap());
    let server = picoquic(AnalysisSettings { window: Some(window), ..AnalysisSettings::default() });
    let packets: Vec<u64> = server.windows.iter().map(|row| row.metrics.packets_sent.unwrap()).collect();
    assert_eq!(metrics.slow_start.packets_sent, Some(packets[0]));
    assert_eq!(metrics.steady.packets_sent, Some(packets[1..].iter().sum()));
    assert_eq!(metrics.slow_start.train_max_packets, server.windows[0].metrics.train_max_packets);
    assert_eq!(metrics.slow_start.gap_median_ns, server.windows[0].metrics.gap_median_ns);
}
