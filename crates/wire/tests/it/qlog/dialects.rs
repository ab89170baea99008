//! The logs of each stack, to the value.

use super::*;

#[test]
fn quic_go_names_its_datagrams() {
    let (events, summary) = sample("quic-go.sqlog");
    let trace = &summary.traces[0];
    assert_eq!((events.len(), trace.vantage_point.as_deref(), trace.version.as_str()), (39, Some("server"), "0.3"));
    assert_eq!(trace.reference_ns, Some(1_795_252_063_954_970_299));
    assert_eq!(hexadecimal(trace.original_destination_connection_id.as_ref()), "c508c6ee1e54e951cb5901f11088");
    assert!(summary.not_understood.is_empty() && summary.warnings.is_empty(), "{summary:?}");
    assert_event(&events, 0, 144_615, CongestionState { new: "slow_start".to_owned() });
    assert_event(&events, 1, 146_068, Other("quic:recovery_parameters_set".to_owned()));
    let coalesced = |packet| QlogPacket { datagram_id: Some(971_355_411), datagram_id_is_crc32c: true, ..packet };
    assert_event(&events, 8, 975_555, PacketSent(coalesced(packet(QlogSpace::Handshake, 1, Some(1068)))));
    assert_event(&events, 9, 976_756, PacketSent(coalesced(packet(QlogSpace::OneRtt, 2, Some(95)))));
    assert_event(&events, 29, 6_228_129, PacketLost(packet(QlogSpace::OneRtt, 17, None)));
    let metrics = QlogMetrics {
        smoothed_rtt_ns: Some(966_000),
        rtt_variance_ns: Some(315_000),
        latest_rtt_ns: Some(1_073_438),
        min_rtt_ns: Some(442_019),
        congestion_window_bytes: Some(28_672),
        bytes_in_flight_bytes: Some(20_757),
        ..QlogMetrics::default()
    };
    assert_event(&events, 31, 6_257_983, Metrics(metrics));
}

#[test]
fn ngtcp2_counts_whole_milliseconds_from_an_unknown_zero() {
    let (events, summary) = sample("ngtcp2.sqlog");
    assert_eq!(summary.traces[0].reference_ns, None);
    assert_eq!(summary.traces[0].time_format, Some(QlogTimeFormat::Relative));
    assert!(summary.not_understood.is_empty() && summary.warnings.is_empty(), "{summary:?}");
    assert_event(&events, 12, 1_000_000, PacketReceived(packet(QlogSpace::Initial, 1_245_821_851, Some(72))));
    let metrics = QlogMetrics {
        smoothed_rtt_ns: Some(333_000_000),
        rtt_variance_ns: Some(166_000_000),
        latest_rtt_ns: Some(0),
        congestion_window_bytes: Some(12_000),
        bytes_in_flight_bytes: Some(0),
        pto_count: Some(0),
        ..QlogMetrics::default()
    };
    assert_event(&events, 3, 0, Metrics(metrics));
    assert!(events.iter().any(|event| event.kind == PacketLost(packet(QlogSpace::OneRtt, 527_426_859, None))));
    let thresholds = events.iter().filter_map(|event| match &event.kind {
        Metrics(metrics) => metrics.ssthresh_bytes,
        _ => None,
    });
    assert_eq!(thresholds.max(), Some(22_211));
}

#[test]
fn quiche_plans_its_send_times_and_counts_its_rate_in_bytes() {
    let (events, summary) = sample("quiche.sqlog");
    let trace = &summary.traces[0];
    assert_eq!(trace.reference_ns, Some(1_795_252_064_008_149_144));
    assert_eq!(trace.version, "urn:ietf:params:qlog:file:sequential");
    assert_eq!(hexadecimal(trace.original_destination_connection_id.as_ref()), "889aed26a01cacb5d22723c10a053d86");
    assert!(summary.not_understood.is_empty() && summary.warnings.is_empty(), "{summary:?}");
    let planned = |planned, packet| QlogPacket { planned_time_ns: Some(planned), ..packet };
    assert_event(&events, 5, 1_015_000, PacketSent(planned(1_015_835, packet(QlogSpace::Initial, 0, Some(1200)))));
    // Written as 31.261025999999998.
    assert_event(&events, 27, 31_261_000, PacketSent(planned(31_261_026, packet(QlogSpace::OneRtt, 86, Some(1350)))));
    // 13 500 bytes in 333 ms, times the gain of BBR's startup, 2.885: 116 959 bytes per second.
    let metrics = QlogMetrics {
        smoothed_rtt_ns: Some(333_000_000),
        rtt_variance_ns: Some(166_500_000),
        min_rtt_ns: Some(333_000_000),
        congestion_window_bytes: Some(13_500),
        pto_count: Some(0),
        pacing_rate_bps: Some(8 * 116_959),
        ..QlogMetrics::default()
    };
    assert_event(&events, 2, 265_000, Metrics(metrics));
    assert_event(&events, 3, 265_000, CongestionState { new: "bbr_startup".to_owned() });
}

#[test]
fn an_older_quiche_has_no_reference_and_other_names() {
    let (events, summary) = sample("quiche-0.24.sqlog");
    assert_eq!(summary.traces[0].version, "0.3");
    assert_eq!(summary.traces[0].reference_ns, None);
    assert!(summary.not_understood.is_empty() && summary.warnings.is_empty(), "{summary:?}");
    let sent = QlogPacket { planned_time_ns: Some(681_066), ..packet(QlogSpace::Initial, 0, Some(166)) };
    assert_event(&events, 4, 681_066, PacketSent(sent));
    let rate = QlogMetrics {
        bytes_in_flight_bytes: Some(469),
        pacing_rate_bps: Some(8 * 14_086_964),
        ..QlogMetrics::default()
    };
    assert!(events.iter().any(|event| event.kind == Metrics(rate.clone())));
}

#[test]
fn aioquic_counts_from_1970_without_saying_so() {
    let (events, summary) = sample("aioquic.qlog");
    let trace = &summary.traces[0];
    assert_eq!((trace.time_format, trace.reference_ns), (Some(QlogTimeFormat::Absolute), Some(0)));
    assert_eq!(trace.vantage_point.as_deref(), Some("server"));
    assert_eq!(hexadecimal(trace.original_destination_connection_id.as_ref()), "6b3b2a0abbc6d921");
    assert!(summary.not_understood.is_empty() && summary.warnings.is_empty(), "{summary:?}");
    let received = packet(QlogSpace::Initial, 0, Some(517));
    assert_event(&events, 2, 1_795_252_078_393_901_900, PacketReceived(received));
    assert_event(&events, 30, 1_795_252_078_404_593_300, PacketLost(packet(QlogSpace::OneRtt, 17, None)));
    let metrics = QlogMetrics {
        congestion_window_bytes: Some(16_966),
        bytes_in_flight_bytes: Some(4_800),
        ssthresh_bytes: Some(16_966),
        ..QlogMetrics::default()
    };
    assert_event(&events, 32, 1_795_252_078_404_607_700, Metrics(metrics));
}

#[test]
fn quinn_counts_round_trips_in_seconds() {
    let (events, summary) = sample("quinn.sqlog");
    assert_eq!(hexadecimal(summary.traces[0].original_destination_connection_id.as_ref()), "1b344f8237f164d3");
    assert_eq!(summary.warnings, ["trace 0: assuming quinn's units: RTTs are read as seconds"]);
    // RFC 9002's initial RTT.
    let metrics = QlogMetrics {
        smoothed_rtt_ns: Some(333_000_000),
        rtt_variance_ns: Some(166_500_000),
        latest_rtt_ns: Some(333_000_000),
        min_rtt_ns: Some(333_000_000),
        congestion_window_bytes: Some(12_000),
        bytes_in_flight_bytes: Some(0),
        ssthresh_bytes: Some(u64::MAX),
        pto_count: Some(0),
        ..QlogMetrics::default()
    };
    assert_event(&events, 1, 3_062_798, Metrics(metrics));
    assert_event(&events, 3, 5_175_700, PacketSent(packet(QlogSpace::Handshake, 0, Some(1057))));
    assert_event(&events, 29, 13_403_091, PacketLost(packet(QlogSpace::OneRtt, 14, Some(1326))));
}

#[test]
fn neqo_says_when_its_zero_is() {
    let (events, summary) = sample("neqo.sqlog");
    let trace = &summary.traces[0];
    assert_eq!((trace.vantage_point.as_deref(), trace.title.as_deref()), (Some("client"), Some("neqo-Client trace")));
    assert_eq!(trace.reference_ns, Some(1_795_251_712_394_304_700));
    assert_eq!(hexadecimal(trace.original_destination_connection_id.as_ref()), "0f1e2d3c4b5a6978");
    assert_event(&events, 2, 412_625, PacketSent(packet(QlogSpace::Initial, 0, Some(1232))));
    assert_event(&events, 8, 82_125_000, CongestionState { new: "congestion_avoidance".to_owned() });
    assert_event(&events, 9, 130_500_000, Metrics(QlogMetrics { pto_count: Some(1), ..QlogMetrics::default() }));
    assert_event(&events, 10, 131_062_500, PacketLost(packet(QlogSpace::OneRtt, 0, None)));
}

#[test]
fn picoquic_counts_in_microseconds_and_shouts() {
    let (events, summary) = sample("picoquic.qlog");
    assert_eq!(summary.traces[0].reference_ns, Some(1_795_251_712_394_304_000));
    assert_eq!(summary.traces[0].version, "draft-00");
    // A member without quotation marks.
    assert_eq!(summary.not_understood.into_iter().collect::<Vec<_>>(), [("event that is not JSON".to_owned(), 1)]);
    assert_event(&events, 1, 0, PacketReceived(packet(QlogSpace::Initial, 0, Some(1252))));
    assert_event(&events, 4, 840_000, PacketSent(packet(QlogSpace::Handshake, 0, Some(1090))));
    let metrics = QlogMetrics {
        congestion_window_bytes: Some(16_594),
        bytes_in_flight_bytes: Some(0),
        smoothed_rtt_ns: Some(24_063_000),
        min_rtt_ns: Some(24_063_000),
        latest_rtt_ns: Some(24_063_000),
        ..QlogMetrics::default()
    };
    assert_event(&events, 8, 24_911_000, Metrics(metrics));
    assert_event(&events, 11, 51_377_000, PacketLost(packet(QlogSpace::OneRtt, 5, Some(1440))));
}

#[test]
fn mvfst_puts_its_events_before_what_says_how_to_read_them() {
    let (events, summary) = sample("mvfst.qlog");
    let trace = &summary.traces[0];
    assert_eq!((trace.reference_ns, trace.time_format), (None, Some(QlogTimeFormat::Relative)));
    assert_eq!(summary.not_understood.values().sum::<u64>(), 1, "{summary:?}");
    assert!(summary.warnings.is_empty());
    assert_event(&events, 2, 86_399_001_050_000, PacketSent(packet(QlogSpace::Initial, 7, Some(1232))));
    let round_trips = QlogMetrics {
        smoothed_rtt_ns: Some(40_420_000),
        latest_rtt_ns: Some(40_420_000),
        min_rtt_ns: Some(40_420_000),
        ..QlogMetrics::default()
    };
    assert_event(&events, 5, 86_399_041_520_000, Metrics(round_trips));
    let lost = QlogPacket { space: None, ..packet(QlogSpace::OneRtt, 9, Some(1252)) };
    assert_event(&events, 10, 86_399_082_010_000, PacketLost(lost));
    assert_event(&events, 11, 86_399_082_500_000, Other("loss:packets_lost".to_owned()));
}
