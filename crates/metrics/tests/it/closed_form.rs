//! Runs whose metrics are known on paper.

use crate::common::{
    CLIENT_PORT, Made, ONE_RTT, SERVER_PORT, analyzed, capture, capture_of_response, codes, connection_at, handshake,
    measure_capture, packets_at, pcapng, server_packets,
};
use quiclab_metrics::{AnalysisSettings, Metrics, Observation, RunMetrics, measure};
use quiclab_units::{ByteCount, Duration};

fn with_response(packets: &[Made], bytes: u64) -> RunMetrics {
    measure_capture(&capture_of_response(packets, bytes))
}

/// Those of times and lengths that metrics.json had from its first version on.
fn of_times(metrics: &Metrics) -> Metrics {
    Metrics {
        packets_sent: metrics.packets_sent,
        duration_ns: metrics.duration_ns,
        gap_median_ns: metrics.gap_median_ns,
        gap_share_below_100us: metrics.gap_share_below_100us,
        train_share_of_packets_1: metrics.train_share_of_packets_1,
        train_share_of_packets_le_5: metrics.train_share_of_packets_le_5,
        train_share_of_trains_le_5: metrics.train_share_of_trains_le_5,
        train_max_packets: metrics.train_max_packets,
        ..Metrics::default()
    }
}

#[test]
fn a_constant_rate_has_one_gap_and_trains_of_one() {
    let times: Vec<u64> = (0..1_001).map(|n| 5 + n * 250_000).collect();
    let run = measure_capture(&server_packets(&times));
    let expected = Metrics {
        packets_sent: Some(1_001),
        duration_ns: Some(250_000_000),
        gap_median_ns: Some(250_000),
        gap_share_below_100us: Some(0.0),
        train_share_of_packets_1: Some(1.0),
        train_share_of_packets_le_5: Some(1.0),
        train_share_of_trains_le_5: Some(1.0),
        train_max_packets: Some(1),
        ..Metrics::default()
    };
    assert_eq!(of_times(&run.metrics), expected);
    assert_eq!(run.distributions.trains, [(1, 1_001)]);
    // 10^(216/40) = 251188.6
    assert_eq!(run.distributions.gaps_ns, [(251_189, 1_000)]);
    assert_eq!(codes(&run), Vec::<&str>::new());
}

#[test]
fn bursts_of_ten_and_single_packets_give_both_shares() {
    // 30 bursts of 10 and 100 lone packets, 1 ms apart, 12 µs inside a burst.
    let mut times = Vec::new();
    let mut now = 0;
    for train in 0..130 {
        let length = if train < 30 { 10 } else { 1 };
        times.extend((0..length).map(|n| now + n * 12_000));
        now += (length - 1) * 12_000 + 1_000_000;
    }
    let run = measure_capture(&server_packets(&times));
    let metrics = run.metrics;
    assert_eq!(metrics.packets_sent, Some(400));
    assert_eq!(metrics.gap_share_below_100us, Some(270.0 / 399.0));
    assert_eq!(metrics.gap_median_ns, Some(12_000));
    assert_eq!(metrics.train_share_of_packets_1, Some(0.25));
    assert_eq!(metrics.train_share_of_packets_le_5, Some(0.25));
    assert_eq!(metrics.train_share_of_trains_le_5, Some(100.0 / 130.0));
    assert_eq!(metrics.train_max_packets, Some(10));
    assert_eq!(run.distributions.trains, [(1, 100), (10, 30)]);
}

#[test]
fn a_train_of_five_is_short_and_one_of_six_is_not() {
    let burst = |packets: u64| {
        let times: Vec<u64> = (0..packets).map(|n| n * 1_000).collect();
        measure_capture(&server_packets(&times)).metrics
    };
    assert_eq!(burst(5).train_share_of_packets_le_5, Some(1.0));
    assert_eq!(burst(6).train_share_of_packets_le_5, Some(0.0));
    assert_eq!(burst(6).train_share_of_trains_le_5, Some(0.0));
}

#[test]
fn the_train_threshold_is_strict_and_a_setting() {
    let times = [0, 49_999, 99_999, 200_000];
    let file = pcapng(&packets_at(&times));
    let trains = |threshold_ns| {
        let settings =
            AnalysisSettings { train_threshold: Duration::from_nanos(threshold_ns), ..AnalysisSettings::default() };
        measure_capture(&analyzed(&file, settings)).distributions.trains
    };
    assert_eq!(trains(49_999), [(1, 4)]);
    assert_eq!(trains(50_000), [(1, 2), (2, 1)]);
    assert_eq!(trains(50_001), [(1, 1), (3, 1)]);
    assert_eq!(trains(100_002), [(4, 1)]);
}

#[test]
fn a_gap_of_99999_ns_is_short_and_one_of_100000_is_not() {
    let short = measure_capture(&server_packets(&[0, 99_999])).metrics;
    assert_eq!(short.gap_share_below_100us, Some(1.0));
    let long = measure_capture(&server_packets(&[0, 100_000])).metrics;
    assert_eq!(long.gap_share_below_100us, Some(0.0));
}

#[test]
fn goodput_on_the_wire_runs_from_the_first_to_the_last_one_rtt_packet() {
    let packets = [
        Made::udp_from_server(0, &handshake()),
        Made::udp_from_server(1_000_000_000, ONE_RTT),
        Made::udp_from_server(2_000_000_000, ONE_RTT),
        Made::udp_from_server(3_000_000_000, ONE_RTT),
        Made::udp_from_server(9_000_000_000, &handshake()),
    ];
    let run = with_response(&packets, 10_000_000);
    assert_eq!(run.metrics.goodput_wire_bps, Some(40e6));
    assert_eq!(run.metrics.duration_ns, Some(9_000_000_000));
    assert_eq!(codes(&run), Vec::<&str>::new());
}

#[test]
fn a_one_rtt_packet_coalesced_behind_a_handshake_packet_starts_the_goodput() {
    let mut coalesced = handshake();
    coalesced.extend([0x40; 30]);
    let packets = [
        Made::udp_from_server(0, &handshake()),
        Made::udp_from_server(1_000_000_000, &coalesced),
        Made::udp_from_server(3_000_000_000, ONE_RTT),
    ];
    assert_eq!(with_response(&packets, 1_000_000).metrics.goodput_wire_bps, Some(4e6));
}

#[test]
fn goodput_over_tls_starts_behind_the_clients_finished() {
    let application_data = [23, 3, 3, 0, 2, 9, 9];
    let change_cipher_spec_and_finished = [20, 3, 3, 0, 1, 1, 23, 3, 3, 0, 1, 9];
    let packets = [
        Made::tcp_from_client(0, &[22, 3, 1, 0, 1, 1]),
        // The server's encrypted handshake looks like application data.
        Made::tcp_from_server(100, &application_data),
        Made::tcp_from_client(200, &[]),
        Made::tcp_from_client(300, &change_cipher_spec_and_finished),
        Made::tcp_from_server(400, &[]),
        Made::tcp_from_server(500, &application_data),
        Made::tcp_from_server(1_000_000_500, &[0x77; 1000]),
        Made::tcp_from_server(5_000_000_000, &[]),
    ];
    let run = with_response(&packets, 1_000_000);
    assert_eq!(run.metrics.goodput_wire_bps, Some(8e6));
    assert_eq!(run.metrics.packets_sent, Some(5));
    assert_eq!(codes(&run), Vec::<&str>::new());
}

#[test]
fn goodput_by_process_is_over_the_clients_lifetime() {
    let capture = capture_of_response(&connection_at(&[0, 1_000_000_000]), 1_000_000);
    let run = measure(
        &capture,
        &Observation {
            transferred_bytes: Some(ByteCount::from_bytes(1_000_000)),
            client_lifetime: Some(Duration::from_nanos(1_000_000_000)),
            ..Observation::of_port(SERVER_PORT)
        },
    );
    assert_eq!(run.metrics.goodput_wire_bps, Some(8e6));
    assert_eq!(run.metrics.goodput_process_bps, Some(8e6));
    assert_eq!(codes(&run), Vec::<&str>::new());
}

#[test]
fn what_is_not_known_is_null() {
    let run = measure_capture(&server_packets(&[0, 1_000_000_000]));
    assert_eq!(run.metrics.goodput_wire_bps, None);
    assert_eq!(run.metrics.goodput_process_bps, None);
    assert_eq!(run.metrics.drops_packets, None);
    assert_eq!(run.metrics.cpu_busy_share, None);
}

#[test]
fn one_packet_has_no_gap_and_is_a_train() {
    let run = measure_capture(&server_packets(&[7]));
    let expected = Metrics {
        packets_sent: Some(1),
        duration_ns: Some(0),
        train_share_of_packets_1: Some(1.0),
        train_share_of_packets_le_5: Some(1.0),
        train_share_of_trains_le_5: Some(1.0),
        train_max_packets: Some(1),
        ..Metrics::default()
    };
    assert_eq!(of_times(&run.metrics), expected);
    assert_eq!(run.distributions.gaps_ns, []);
}

#[test]
fn only_packets_from_the_server_at_the_senders_tap_count() {
    let capture = capture(&[
        Made::tcp_from_server(0, &[1; 10]),
        Made::tcp_from_client(10, &[]),
        Made::tcp_from_server(20_000_000, &[1; 10]).at_second_tap(),
        Made::tcp_from_server(30_000_000, &[1; 10]),
        Made::udp(40_000_000, CLIENT_PORT, ONE_RTT),
    ]);
    let run = measure_capture(&capture);
    assert_eq!(run.metrics.packets_sent, Some(2));
    assert_eq!(run.metrics.gap_median_ns, Some(30_000_000));
}
