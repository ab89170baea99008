//! Each warning: raised just outside its bound, silent just inside.

use crate::common::{
    CLIENT_PORT, Made, ONE_RTT, SERVER_PORT, analyzed, capture, capture_of_response, codes, connection_at, handshake,
    measure_capture, packets_at, pcap_in_any_order, pcapng, server_packets, sorted,
};
use quiclab_metrics::{AnalysisSettings, CaptureAnalysis, Metrics, Observation, RunMetrics, measure};
use quiclab_units::{ByteCount, Duration};

const NONE: [&str; 0] = [];

fn with_response(packets: &[Made]) -> RunMetrics {
    measure_capture(&capture_of_response(packets, 1_000_000))
}

#[test]
fn no_flow_measures_nothing() {
    let run = measure_capture(&capture(&[Made::tcp_from_client(0, &[])]));
    assert_eq!(codes(&run), ["no_flow"]);
    assert_eq!(run.metrics, Metrics::default());
    assert_eq!(run.distributions, Default::default());
}

#[test]
fn of_several_flows_the_largest_is_measured() {
    let run = measure_capture(&capture(&[
        Made::udp(0, CLIENT_PORT + 1, ONE_RTT),
        Made::udp(10, CLIENT_PORT, ONE_RTT),
        Made::udp(20, CLIENT_PORT, ONE_RTT),
        Made::tcp_from_server(30, &[]),
    ]));
    assert_eq!(codes(&run), ["several_flows"]);
    assert_eq!(run.metrics.packets_sent, Some(2));
    let several = run.warnings.iter().find(|warning| warning.code == "several_flows").unwrap();
    assert!(several.message.contains("10.0.0.1:4433 to 10.0.0.2:50001 (1 packets)"), "{several:?}");
}

#[test]
fn a_truncated_capture_is_measured_and_doubted() {
    let file = pcapng(&[Made::udp_from_server(0, ONE_RTT), Made::udp_from_server(10, ONE_RTT)]);
    let run = measure_capture(&analyzed(&file[..file.len() - 1], AnalysisSettings::default()));
    assert_eq!(codes(&run), ["capture_truncated"]);
    assert_eq!(run.metrics.packets_sent, Some(1));
}

#[test]
fn one_packet_lost_by_a_tap_is_a_warning_and_none_is_not() {
    let capture = server_packets(&[0, 10]);
    let lost = |packets| {
        let run = measure(
            &capture,
            &Observation {
                capture_losses_packets: [("sender".to_owned(), packets), ("bottleneck".to_owned(), 0)].into(),
                ..Observation::of_port(SERVER_PORT)
            },
        );
        codes(&run).iter().map(|code| code.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(lost(0), NONE);
    assert_eq!(lost(1), ["capture_lost_packets"]);
}

#[test]
fn a_frame_of_1514_bytes_is_a_packet_and_one_of_1515_a_super_packet() {
    let of_length = |bytes| measure_capture(&capture(&[Made::udp_from_server(0, ONE_RTT).with_frame_length(bytes)]));
    assert_eq!(codes(&of_length(1514)), NONE);
    assert_eq!(codes(&of_length(1515)), ["super_packets"]);
}

#[test]
fn headers_that_were_cut_off_are_a_warning_and_arp_is_not() {
    let whole = Made::udp_from_server(0, ONE_RTT);
    let cut = measure_capture(&capture(&[whole.clone(), Made::udp_from_server(1, ONE_RTT).cut_to(40)]));
    assert_eq!(codes(&cut), ["frames_not_understood"]);
    let mut with_arp = capture(&[whole]);
    with_arp.capture.skipped.insert(quiclab_wire::SkipReason::NotIp, 3);
    assert_eq!(codes(&measure_capture(&with_arp)), NONE);
}

#[test]
fn backwards_time_is_left_out_of_the_gaps_and_named() {
    let measured = |later: u64| {
        let times: Vec<u64> = [0, 200, 100].into_iter().chain((1..=later).map(|place| place * 300_000)).collect();
        measure_capture(&analyzed(&pcap_in_any_order(&packets_at(&times)), AnalysisSettings::default()))
    };
    // One of a hundred, and one of 99.
    let run = measured(97);
    assert_eq!(codes(&run), ["time_backwards"]);
    assert_eq!(run.distributions.gaps_ns.iter().map(|(_, gaps)| gaps).sum::<u64>(), 98);
    assert_eq!(run.distributions.trains, [(1, 97), (3, 1)]);
    let run = measured(96);
    assert_eq!(codes(&run), ["time_backwards"]);
    assert_eq!((run.metrics.gap_median_ns, run.metrics.train_max_packets), (None, None));
    assert_eq!(run.metrics.packets_sent, Some(99));

    let settings =
        AnalysisSettings { transferred_bytes: Some(ByteCount::from_bytes(1_000_000)), ..AnalysisSettings::default() };
    let run = measure_capture(&analyzed(&pcap_in_any_order(&packets_at(&[100, 0])), settings));
    assert_eq!(run.metrics.duration_ns, None);
    assert_eq!(run.metrics.goodput_wire_bps, None);
}

#[test]
fn a_capture_without_payloads_measures_goodput_from_first_to_last() {
    let headers_only = |time| Made::udp_from_server(time, ONE_RTT).cut_to(42);
    let run = with_response(&[headers_only(0), headers_only(1_000_000_000)]);
    assert_eq!(codes(&run), ["goodput_first_to_last_packet"]);
    assert_eq!(run.metrics.goodput_wire_bps, Some(8e6));
}

#[test]
fn a_tls_flow_whose_client_was_not_captured_measures_goodput_from_first_to_last() {
    let server_hello = [22, 3, 3, 0, 1, 2];
    let run = with_response(&[Made::tcp_from_server(0, &server_hello), Made::tcp_from_server(2_000_000_000, &[1])]);
    assert_eq!(codes(&run), ["goodput_first_to_last_packet"]);
    assert_eq!(run.metrics.goodput_wire_bps, Some(4e6));
}

#[test]
fn a_cut_packet_at_the_edge_makes_it_uncertain_and_one_inside_does_not() {
    let one_rtt = |time| Made::udp_from_server(time, ONE_RTT);
    let handshake = || Made::udp_from_server(0, &handshake());
    let inside = with_response(&[handshake(), one_rtt(0), one_rtt(5).cut_to(42), one_rtt(10)]);
    assert_eq!(codes(&inside), NONE);
    for edge in [1, 3] {
        let mut packets = [handshake(), one_rtt(0), one_rtt(5), one_rtt(10)];
        packets[edge] = packets[edge].clone().cut_to(42);
        let run = with_response(&packets);
        assert_eq!(codes(&run), ["goodput_edges_uncertain"]);
        assert_eq!(run.metrics.goodput_wire_bps, Some(8e6 * 1e9 / 5.0));
    }
}

#[test]
fn a_handshake_alone_has_no_goodput() {
    let quic = with_response(&[Made::udp_from_server(0, &handshake()), Made::udp_from_server(9, &handshake())]);
    assert_eq!(codes(&quic), ["goodput_no_protected_packets"]);
    assert_eq!(quic.metrics.goodput_wire_bps, None);
    let tls = with_response(&[
        Made::tcp_from_server(0, &[22, 3, 3, 0, 1, 2]),
        Made::tcp_from_client(5, &[23, 3, 3, 0, 1, 9]),
        Made::tcp_from_server(9, &[]),
    ]);
    assert_eq!(codes(&tls), ["goodput_no_protected_packets"]);
}

#[test]
fn a_response_in_no_time_has_no_goodput() {
    let run = with_response(&packets_at(&[5]));
    assert_eq!(codes(&run), ["goodput_interval_empty"]);
    assert_eq!(run.metrics.goodput_wire_bps, None);
}

/// What is measured of a run with a response of 1 MB whose client lived so long.
fn lived(capture: &CaptureAnalysis, lifetime_ns: u64) -> RunMetrics {
    lived_for(1_000_000, capture, lifetime_ns)
}

fn lived_for(response_bytes: u64, capture: &CaptureAnalysis, lifetime_ns: u64) -> RunMetrics {
    measure(
        capture,
        &Observation {
            transferred_bytes: Some(ByteCount::from_bytes(response_bytes)),
            client_lifetime: Some(Duration::from_nanos(lifetime_ns)),
            ..Observation::of_port(SERVER_PORT)
        },
    )
}

const SECOND: u64 = 1_000_000_000;
const DIFFERS: [&str; 1] = ["goodput_process_differs"];

#[test]
fn a_client_may_live_a_second_longer_than_a_short_connection() {
    let capture = capture_of_response(&connection_at(&[0, SECOND]), 1_000_000);
    assert_eq!(codes(&lived(&capture, 2 * SECOND)), NONE);
    assert_eq!(codes(&lived(&capture, 2 * SECOND + 1)), DIFFERS);
}

/// A client in Python starts for longer than a second.
#[test]
fn the_goodput_of_a_small_response_is_not_worth_a_word() {
    for (bytes, expected) in [(10_000, &NONE[..]), (99_999, &NONE), (100_000, &DIFFERS)] {
        let capture = capture_of_response(&connection_at(&[0, SECOND]), bytes);
        assert_eq!(codes(&lived_for(bytes, &capture, 4 * SECOND)), expected, "{bytes}");
    }
}

#[test]
fn a_client_may_live_5_percent_longer_than_a_long_connection() {
    let capture = capture_of_response(&connection_at(&[0, 40 * SECOND]), 1_000_000);
    assert_eq!(codes(&lived(&capture, 42 * SECOND)), NONE);
    assert_eq!(codes(&lived(&capture, 42 * SECOND + 1)), DIFFERS);
}

/// Nothing explains that: what it sends to nobody counts in the goodput on the wire.
#[test]
fn a_server_may_go_on_sending_for_5_percent_of_the_connection_after_the_clients_end() {
    let capture = capture_of_response(&connection_at(&[0, SECOND]), 1_000_000);
    assert_eq!(codes(&lived(&capture, SECOND - SECOND / 20)), NONE);
    let run = lived(&capture, SECOND - SECOND / 20 - 1);
    assert_eq!(codes(&run), DIFFERS);
    let differs = run.warnings.iter().find(|warning| warning.code == DIFFERS[0]).unwrap();
    assert!(differs.message.contains("the sender sent for at least 0.05 s after the client had ended"), "{differs:?}");
}

#[test]
fn a_handshake_explains_a_lifetime_even_if_only_the_other_tap_saw_its_first_packet() {
    let connection = vec![
        Made::tcp_syn_from_client(3 * SECOND),
        Made::tcp_from_client(3 * SECOND + 1, &[23, 3, 3, 0, 1, 9]),
        Made::tcp_data_from_server(3 * SECOND + 2, 1, &[7; 1000]),
        Made::tcp_data_from_server(4 * SECOND, 1001, &[7; 1000]),
    ];
    let behind = |first: &[Made]| capture_of_response(&[first, &connection].concat(), 1_000_000);
    let seen = behind(&[Made::tcp_syn_from_client(0)]);
    let lost = behind(&[Made::tcp_syn_from_client(0).at_second_tap()]);
    let missing = behind(&[]);
    for (capture, longest) in [(&seen, 5 * SECOND), (&lost, 5 * SECOND), (&missing, 2 * SECOND)] {
        assert_eq!(codes(&lived(capture, longest)), NONE);
        assert_eq!(codes(&lived(capture, longest + 1)), DIFFERS);
    }
}

/// Three probe timeouts after a single sample of 600 ms: 3 x (600 + 4 x 300 + 25) ms.
#[test]
fn a_client_may_keep_its_closed_connection_for_three_probe_timeouts() {
    let packets = [
        Made::tcp_syn_from_client(0),
        Made::tcp_from_client(1, &[23, 3, 3, 0, 1, 9]),
        Made::tcp_data_from_server(SECOND, 1, &[7; 1000]),
        Made::tcp_ack_from_client(1_600_000_000, 1001),
        Made::tcp_data_from_server(2 * SECOND, 1001, &[7; 1000]),
    ];
    let capture = capture_of_response(&packets, 1_000_000);
    let run = lived(&capture, 2 * SECOND + 5_475_000_000);
    assert_eq!((run.metrics.smoothed_rtt_ns, codes(&run)), (Some(600_000_000), NONE.to_vec()));
    assert_eq!(codes(&lived(&capture, 2 * SECOND + 5_475_000_001)), DIFFERS);
}

/// QUIC Steps, table 1, ngtcp2: 100 MiB at 37.20 Mbit/s on the wire and 15.93 Mbit/s by a process that waits 30 s for its idle
/// timeout. The transfer of TCP with TLS there, 37.47 and 37.37 Mbit/s, is not worth a word.
#[test]
fn the_published_idle_timeout_is_a_warning() {
    let bits = 8.0 * 100.0 * f64::from(1 << 20);
    for (wire, process, expected) in [(37.20e6, 15.93e6, &DIFFERS[..]), (37.47e6, 37.37e6, &NONE)] {
        let [wire, process] = [wire, process].map(|rate: f64| (bits / rate * 1e9) as u64);
        let capture = capture_of_response(&connection_at(&[0, wire]), 100 << 20);
        assert_eq!(codes(&lived(&capture, process)), expected);
    }
}

fn drops(sent: u64, arrived: u64, counted: Option<u64>) -> RunMetrics {
    drops_with_copies(sent, arrived, counted, Some(0))
}

fn drops_with_copies(sent: u64, arrived: u64, counted: Option<u64>, copies: Option<u64>) -> RunMetrics {
    let at_sender = (0..sent).map(|n| Made::udp_from_server(n, ONE_RTT));
    let behind = (0..arrived).map(|n| Made::udp_from_server(1_000 + n, ONE_RTT).at_second_tap());
    let capture = capture(&at_sender.chain(behind).collect::<Vec<_>>());
    measure(
        &capture,
        &Observation {
            bottleneck_tap: Some(1),
            queue_drops_packets: counted,
            path_copies_packets: copies,
            ..Observation::of_port(SERVER_PORT)
        },
    )
}

#[test]
fn drops_are_the_queues_count_and_the_taps_must_agree() {
    let agreed = drops(10, 7, Some(3));
    assert_eq!((agreed.metrics.drops_packets, codes(&agreed)), (Some(3), NONE.to_vec()));
    for counted in [2, 4] {
        let run = drops(10, 7, Some(counted));
        assert_eq!((run.metrics.drops_packets, codes(&run)), (Some(counted), vec!["drops_disagree"]));
    }
    let none = drops(10, 10, Some(0));
    assert_eq!((none.metrics.drops_packets, codes(&none)), (Some(0), NONE.to_vec()));
}

/// The capture is as behind a path that changes bytes: packets of which the tap kept the beginning have wrong numbers, and seem to be
/// missing.
#[test]
fn packets_that_seem_to_be_missing_behind_the_bottleneck_are_no_drops() {
    let data = |number: u32| Made::tcp_data_from_server(10 + u64::from(number), 1 + 1000 * number, &[7; 1000]);
    let at_sender = (0..10).map(data);
    let behind = (0..7).map(|number| data(number).at_second_tap());
    let acknowledgment = Made::tcp_ack_from_client(30, 1_000_000).at_second_tap();
    let mut packets: Vec<Made> = at_sender.chain(behind).collect();
    packets.push(acknowledgment);
    let capture = analyzed(&pcapng(&sorted(packets)), AnalysisSettings::default());
    let behind = capture.directions.iter().find(|one| capture.flows[one.flow].interface == 1 && one.packets == 7);
    assert_eq!(behind.expect("the server's packets behind the bottleneck").run.metrics.packets_sent, None);
    let observation = |drops| Observation {
        bottleneck_tap: Some(1),
        queue_drops_packets: Some(drops),
        path_copies_packets: Some(0),
        ..Observation::of_port(SERVER_PORT)
    };
    assert!(!codes(&measure(&capture, &observation(3))).contains(&"drops_disagree"));
    assert!(codes(&measure(&capture, &observation(4))).contains(&"drops_disagree"));
}

#[test]
fn copies_that_the_path_made_are_no_negative_drops() {
    // Ten sent, three dropped, two copied.
    let run = drops_with_copies(10, 9, Some(3), Some(2));
    assert_eq!((run.metrics.drops_packets, codes(&run)), (Some(3), NONE.to_vec()));
    let run = drops_with_copies(10, 9, Some(2), Some(2));
    assert_eq!((run.metrics.drops_packets, codes(&run)), (Some(2), vec!["drops_disagree"]));
    // Without a number of copies there is nothing to check the counters by, and no number to take from the taps.
    let run = drops_with_copies(10, 9, Some(3), None);
    assert_eq!((run.metrics.drops_packets, codes(&run)), (Some(3), NONE.to_vec()));
    let run = drops_with_copies(10, 9, None, None);
    assert_eq!((run.metrics.drops_packets, codes(&run)), (None, vec!["drops_from_taps"]));
    let run = drops_with_copies(10, 9, None, Some(2));
    assert_eq!((run.metrics.drops_packets, codes(&run)), (Some(3), vec!["drops_from_taps"]));
}

#[test]
fn drops_of_other_traffic_are_no_drops_of_the_flow() {
    let sent = (0..10).map(|n| Made::udp_from_server(n, ONE_RTT));
    let arrived = (0..7).map(|n| Made::udp_from_server(1_000 + n, ONE_RTT).at_second_tap());
    let capture = capture(&sent.chain(arrived).collect::<Vec<_>>());
    let run = |others| {
        measure(
            &capture,
            &Observation {
                bottleneck_tap: Some(1),
                queue_drops_packets: Some(5),
                other_drops_packets: others,
                path_copies_packets: Some(0),
                ..Observation::of_port(SERVER_PORT)
            },
        )
    };
    for (others, drops, expected) in [
        (Some(2), Some(3), NONE.to_vec()),
        (Some(0), Some(5), vec!["drops_disagree"]),
        (Some(1), Some(4), vec!["drops_disagree"]),
        (Some(5), Some(0), vec!["drops_disagree"]),
        // More of the others than of all: the counters say nothing. Nor do they where that number is unknown.
        (Some(6), Some(3), vec!["drops_from_taps"]),
        (None, Some(3), vec!["drops_from_taps"]),
    ] {
        let run = run(others);
        assert_eq!((run.metrics.drops_packets, codes(&run)), (drops, expected), "{others:?}");
    }
}

#[test]
fn without_counters_drops_are_the_difference_of_the_taps() {
    let run = drops(10, 7, None);
    assert_eq!((run.metrics.drops_packets, codes(&run)), (Some(3), vec!["drops_from_taps"]));
    // More behind the bottleneck than before it: no number of drops at all.
    let run = drops(7, 10, None);
    assert_eq!((run.metrics.drops_packets, codes(&run)), (None, vec!["drops_from_taps"]));
}

#[test]
fn without_a_second_tap_the_queues_count_stands_alone() {
    let capture = server_packets(&[0, 10]);
    let run = measure(&capture, &Observation { queue_drops_packets: Some(4), ..Observation::of_port(SERVER_PORT) });
    assert_eq!((run.metrics.drops_packets, codes(&run)), (Some(4), NONE.to_vec()));
}

#[test]
fn a_busy_share_of_60_percent_passes_and_more_is_a_warning() {
    let capture = server_packets(&[0, 10]);
    let busy =
        |share| measure(&capture, &Observation { cpu_busy_share: Some(share), ..Observation::of_port(SERVER_PORT) });
    assert_eq!(codes(&busy(0.6)), NONE);
    assert_eq!(codes(&busy(0.600_1)), ["guest_busy"]);
    assert_eq!(busy(0.0).metrics.cpu_busy_share, Some(0.0));
    assert_eq!(busy(1.0).metrics.cpu_busy_share, Some(1.0));
    for wrong in [-0.001, 1.001, f64::NAN, f64::INFINITY] {
        let run = busy(wrong);
        assert_eq!((run.metrics.cpu_busy_share, codes(&run)), (None, vec!["busy_share_invalid"]));
    }
}

/// A millisecond between packets, 98 % of it busy, is a load; 4 ms are an endpoint that polls.
#[test]
fn an_endpoint_that_polls_without_waiting_is_not_told_to_lower_the_rate() {
    let message = |packets: u64, gap_ms: u64| {
        let times: Vec<_> = (0..packets).map(|number| number * gap_ms * 1_000_000).collect();
        let observation = Observation { cpu_busy_share: Some(0.98), ..Observation::of_port(SERVER_PORT) };
        let run = measure(&server_packets(&times), &observation);
        let mut warnings = run.warnings.iter().filter(|warning| warning.code == "guest_busy");
        warnings.next().unwrap().message.clone()
    };
    let spins = message(100, 4);
    assert!(spins.contains("3.9 ms for each packet") && !spins.contains("lower the rate"), "{spins}");
    for other in [message(100, 1), message(99, 4)] {
        assert!(other.contains("lower the rate") && other.contains("unless an endpoint polls"), "{other}");
    }
}

#[test]
fn nothing_of_quic_is_asked_of_a_flow_that_nothing_shows_to_be_quic() {
    // Responses of the domain name system: the first byte has no fixed bit (RFC 9000, section 17.2).
    let packets: Vec<_> =
        (0..20).map(|number| Made::udp_from_server(number * 1000, b"\x12\x34\x81\x80\0\x01\0\x01")).collect();
    let run = measure_capture(&capture(&packets));
    let of_quic = ["not_quic", "keys_missing", "handshake_unread", "capture_began_late"];
    let said: Vec<_> = run.warnings.iter().filter(|warning| of_quic.contains(&warning.code.as_str())).collect();
    assert!(matches!(said[..], [only] if only.code == "not_quic"), "{said:?}");
    // What is null for want of QUIC has this reason, and no other one.
    let reasons: Vec<_> = run
        .withheld
        .iter()
        .filter(|withheld| withheld.metrics.iter().any(|name| name == "handshake_confirmed_ns"))
        .collect();
    assert!(matches!(reasons[..], [only] if only.reason.contains("is QUIC")), "{reasons:?}");
}
