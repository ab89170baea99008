//! qlog of every stack: exact values of real logs, time formats, cuts, damage, bounded memory.
//!
//! What the samples are: `data/qlog/README.md`.

use std::cell::Cell;
use std::io::Read;

use proptest::prelude::*;
use quiclab_wire::QlogEventKind::{CongestionState, Metrics, Other, PacketLost, PacketReceived, PacketSent};
use quiclab_wire::{
    MAXIMUM_EVENT_BYTES, MAXIMUM_HELD_BYTES, QlogError, QlogEvent, QlogEventKind, QlogMetrics, QlogPacket, QlogSpace,
    QlogSummary, QlogTimeFormat, read_qlog,
};

macro_rules! sample {
    ($name:literal) => {
        ($name, include_bytes!(concat!("data/qlog/", $name)))
    };
}

const SAMPLES: [(&str, &[u8]); 9] = [
    sample!("quic-go.sqlog"),
    sample!("ngtcp2.sqlog"),
    sample!("quiche.sqlog"),
    sample!("quiche-0.24.sqlog"),
    sample!("aioquic.qlog"),
    sample!("quinn.sqlog"),
    sample!("neqo.sqlog"),
    sample!("picoquic.qlog"),
    sample!("mvfst.qlog"),
];

fn read(bytes: &[u8]) -> Result<(Vec<QlogEvent>, QlogSummary), QlogError> {
    let mut events = Vec::new();
    let summary = read_qlog(bytes, &mut |event| events.push(event))?;
    assert_eq!(summary.events, events.len() as u64);
    Ok((events, summary))
}

fn sample(name: &str) -> (Vec<QlogEvent>, QlogSummary) {
    let (_, bytes) = SAMPLES.iter().find(|(known, _)| *known == name).expect("a sample of this name");
    read(bytes).expect("a sample is a qlog file")
}

/// The event at `index`, and its time.
#[track_caller]
fn assert_event(events: &[QlogEvent], index: usize, time_ns: i64, kind: QlogEventKind) {
    assert_eq!((events[index].time_ns, &events[index].kind), (time_ns, &kind), "event {index}");
}

fn packet(space: QlogSpace, packet_number: u64, length: Option<u64>) -> QlogPacket {
    QlogPacket { space: Some(space), packet_number: Some(packet_number), length, ..QlogPacket::default() }
}

fn hexadecimal(bytes: Option<&Vec<u8>>) -> String {
    bytes.into_iter().flatten().map(|byte| format!("{byte:02x}")).collect()
}

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
    assert_eq!(summary.warnings, ["trace 0: taken for quinn's: RTTs are read as seconds"]);
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
    assert_eq!(summary.not_understood.into_iter().collect::<Vec<_>>(), [("event that is no JSON".to_owned(), 1)]);
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

/// Three events in a trace with these members, times as they stand.
fn trace(members: &str, times: [&str; 3]) -> Vec<u8> {
    let event = |time| format!(r#"{{"time":{time},"name":"transport:packet_sent","data":{{}}}}"#);
    let events = times.map(event).join(",");
    format!(r#"{{"qlog_version":"0.4","traces":[{{{members},"events":[{events}]}}]}}"#).into_bytes()
}

#[test]
fn one_history_in_every_time_format_gives_the_same_times() {
    const ZERO_NS: i64 = 1_795_251_712_394_304_000;
    let reference = r#""reference_time":1795251712394.304"#;
    let object = r#""reference_time":{"clock_type":"system","epoch":"2026-11-21T09:01:52.394304Z"}"#;
    let relative = ["0.001", "12.5", "12.500001"];
    let cases = [
        (reference, "relative", relative),
        (object, "relative_to_epoch", relative),
        (reference, "delta", ["0.001", "12.499", "0.000001"]),
        (object, "relative_to_previous_event", ["0.001", "1.2499e1", "1E-6"]),
        (reference, "absolute", ["1795251712394.305", "1795251712406.804", "1795251712406.804001"]),
    ];
    for (reference, format, times) in cases {
        let members = format!(r#""common_fields":{{"time_format":"{format}",{reference}}}"#);
        let (events, summary) = read(&trace(&members, times)).expect("a valid trace");
        let zero = summary.traces[0].reference_ns.expect("a reference");
        let times: Vec<i64> = events.iter().map(|event| event.time_ns + zero - ZERO_NS).collect();
        assert_eq!(times, [1_000, 12_500_000, 12_500_001], "{format}");
    }
}

#[test]
fn microseconds_are_declared_in_the_configuration() {
    let members = r#""common_fields":{"time_format":"relative"},"configuration":{"time_units":"us"}"#;
    let (events, _) = read(&trace(members, ["1", "2.5", "\"3\""])).expect("a valid trace");
    assert_eq!(events.iter().map(|event| event.time_ns).collect::<Vec<_>>(), [1_000, 2_500, 3_000]);
}

#[test]
fn what_makes_times_doubtful_is_a_warning() {
    let offset = r#""common_fields":{"time_format":"relative"},"configuration":{"time_offset":0.25}"#;
    let (_, summary) = read(&trace(offset, ["1", "2", "3"])).expect("a valid trace");
    assert_eq!(summary.warnings, ["trace 0: time_offset 0.25 is not applied"]);
    let delta = r#""common_fields":{"time_format":"delta"}"#;
    let (events, summary) = read(&trace(delta, ["1", "\"later\"", "3"])).expect("a valid trace");
    assert_eq!(events.iter().map(|event| event.time_ns).collect::<Vec<_>>(), [1_000_000, 4_000_000]);
    assert_eq!(summary.warnings, ["trace 0: times are too early after an event that could not be read"]);
}

#[test]
fn events_wait_for_their_unit_only_so_long() {
    let text = |events: usize| {
        let events = vec![r#"["7","transport","packet_sent",{}]"#; events].join(",");
        let fields =
            r#""event_fields":["relative_time","category","event","data"],"configuration":{"time_units":"us"}"#;
        format!(r#"{{"qlog_version":"draft-00","traces":[{{"events":[{events}],{fields}}}]}}"#)
    };
    let (events, summary) = read(text(1_000).as_bytes()).expect("a valid trace");
    assert!(summary.warnings.is_empty() && events.iter().all(|event| event.time_ns == 7_000));
    let (events, summary) = read(text(MAXIMUM_HELD_BYTES / 30).as_bytes()).expect("a valid trace");
    assert!(events.iter().all(|event| event.time_ns == 7_000_000));
    let late = ["event_fields", "configuration"]
        .map(|name| format!("trace 0: {name} comes after events that were read without it"));
    assert_eq!(summary.warnings, late);
}

#[test]
fn event_fields_say_the_order_of_an_array() {
    let text = r#"{"qlog_version":"draft-02","traces":[{"configuration":{"time_units":"ms"},
        "event_fields":["category","delta_time","trigger","event","data"],"events":[
        ["transport",5,"","packet_lost",{"packet_type":"0RTT","packet_number":"7"}],
        ["transport",5,"","packet_lost",{"packet_type":"0RTT","packet_number":7.5}, "more"]]}]}"#;
    let (events, summary) = read(text.as_bytes()).expect("a valid trace");
    assert_event(&events, 0, 5_000_000, PacketLost(packet(QlogSpace::ZeroRtt, 7, None)));
    let lost = QlogPacket { packet_number: None, ..packet(QlogSpace::ZeroRtt, 0, None) };
    assert_event(&events, 1, 10_000_000, PacketLost(lost));
    let reasons: Vec<_> = summary.not_understood.keys().collect();
    assert_eq!(reasons, ["packet_number of a packet_lost event", "values of an event array beyond event_fields"]);
}

#[test]
fn a_sequence_may_do_without_separators_and_hold_several_files() {
    let (name, separated) = SAMPLES[0];
    let plain: Vec<u8> = separated.iter().copied().filter(|byte| *byte != 0x1e).collect();
    let (events, mut summary) = sample(name);
    assert_eq!(read(&plain).expect("a sequence"), (events.clone(), summary.clone()));
    let (doubled, twice) = read(&[plain, separated.to_vec()].concat()).expect("two sequences");
    summary.traces.extend(summary.traces.clone());
    assert_eq!(twice.traces, summary.traces);
    assert_eq!(doubled.iter().filter(|event| event.trace == 1).count(), events.len());
}

#[test]
fn a_record_cut_off_by_the_next_is_counted() {
    let sequence = "\x1e{\"qlog_version\":\"0.3\",\"trace\":{}}\n\x1e{\"time\":1,\"name\":\"a:b\",\"da\
        \x1e{\"time\":2,\"name\":\"a:c\"}\nkilled\n\x1e{\"time\":3,\"name\":\"a:d\"}";
    let (events, summary) = read(sequence.as_bytes()).expect("a sequence");
    assert_eq!(events.iter().map(|event| event.time_ns).collect::<Vec<_>>(), [2_000_000, 3_000_000]);
    let counts: Vec<_> = summary.not_understood.into_iter().collect();
    assert_eq!(counts, [("record cut off by the next".to_owned(), 1), ("text between records".to_owned(), 1)]);
    assert_eq!(summary.cut_at_byte, None);
}

#[test]
fn a_log_cut_at_any_byte_gives_the_events_before_the_cut() {
    const SMALL_BYTES: usize = 4_000;
    for (name, bytes) in SAMPLES {
        let (all, whole) = sample(name);
        assert_eq!(whole.cut_at_byte, None, "{name}");
        let mut most = 0;
        // Every byte of the small ones.
        let step = if bytes.len() < SMALL_BYTES { 1 } else { 13 };
        for length in (0..bytes.len()).step_by(step) {
            match read(&bytes[..length]) {
                Ok((events, summary)) => {
                    // Undeclared units and the like make no difference to how many events there are.
                    assert!(events.len() >= most, "{name}, {length}: {} after {most}", events.len());
                    most = events.len();
                    let used = summary.cut_at_byte.unwrap_or(0);
                    assert!(used <= length as u64, "{name}, {length}: {used}");
                    if name != "mvfst.qlog" {
                        assert_eq!(events, all[..events.len()], "{name}, {length}");
                    }
                    if name.ends_with(".qlog") && !bytes[length..].trim_ascii().is_empty() {
                        assert!(summary.cut_at_byte.is_some(), "{name}, {length}");
                    }
                }
                Err(QlogError::Empty) => assert!(length <= 1, "{name}, {length}"),
                Err(QlogError::NotQlog { .. }) => assert!(length < 20, "{name}, {length}"),
                Err(error) => panic!("{name}, {length}: {error}"),
            }
        }
        assert!(all.len() - most <= 1, "{name}: {most} of {}", all.len());
    }
}

#[test]
fn the_cut_is_where_the_incomplete_event_begins() {
    let (_, bytes) = SAMPLES[0];
    let last = bytes.iter().rposition(|byte| *byte == 0x1e).expect("a separator");
    for length in [last + 1, last + 2, bytes.len() - 3] {
        let (events, summary) = read(&bytes[..length]).expect("a cut file");
        assert_eq!(events.len(), 38);
        let cut = summary.cut_at_byte.expect("a cut");
        assert!(cut == last as u64 || cut == last as u64 + 1, "{cut}");
    }
}

#[test]
fn what_is_no_qlog_is_refused_with_its_place() {
    let place = |bytes: &[u8]| match read(bytes) {
        Err(QlogError::NotQlog { byte_offset, .. }) => Some(byte_offset),
        _ => None,
    };
    assert!(matches!(read(b""), Err(QlogError::Empty)));
    assert!(matches!(read(b" \n\x1e"), Err(QlogError::Empty)));
    assert_eq!(place(b"\x1f\x8b\x08\x00"), Some(0));
    assert_eq!(place(b"  hello"), Some(2));
    assert_eq!(place(br#"{"log":{"entries":[]}}"#), Some(0));
    assert_eq!(place(b"[1,2]"), Some(0));
    let error = read(b"\xd4\xc3\xb2\xa1").expect_err("a capture").to_string();
    assert!(error.contains("byte 0: found `") && error.contains("hint:"), "{error}");
}

#[test]
fn broken_json_around_the_events_is_an_error_with_its_place() {
    let text =
        br#"{"qlog_version":"0.3","traces":[{"common_fields":{},"events":[{"time":1,"name":"a:b"} {"time":2}]}]}"#;
    let mut count = 0;
    match read_qlog(&text[..], &mut |_| count += 1) {
        Err(QlogError::Malformed { byte_offset, what, .. }) => {
            assert_eq!((byte_offset, what, text[86]), (86, "array", b'{'));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(count, 1);
}

#[test]
fn events_that_make_no_sense_are_counted_one_by_one() {
    let text = r#"{"qlog_version":"0.3","traces":[{"common_fields":{},"events":[
        {"name":"a:b"}, {"time":1}, {"time":"soon","name":"a:b"}, 7, "x", {"time":1,"name":5}, [], {bad},
        {"time":1,"name":"transport:packet_sent","data":[]},
        {"time":1,"name":"transport:packet_sent","data":{"header":{"packet_type":"odd"},"raw":{"length":-1}}}]}, 3]}"#;
    let (events, summary) = read(text.as_bytes()).expect("a trace");
    assert_eq!(events.len(), 2);
    assert_eq!(events[0].kind, Other("transport:packet_sent".to_owned()));
    assert_eq!(events[1].kind, PacketSent(QlogPacket::default()));
    // Eight events, the data of one, two members of another, and the second trace.
    assert_eq!(summary.not_understood.values().sum::<u64>(), 12, "{summary:?}");
}

const EVENT: &str = r#"{"time":1.5,"name":"transport:packet_sent","data":{"raw":{"length":1200},"frames":[]}}"#;

/// A reader of a header, as many events as asked for, and an end, which are made as they are read.
struct Generated<'a> {
    part: Vec<u8>,
    position: usize,
    events_left: u64,
    read: &'a Cell<u64>,
}

impl Read for Generated<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.position == self.part.len() && self.events_left > 0 {
            self.events_left -= 1;
            let end = if self.events_left == 0 { "]}]}" } else { "," };
            self.part = format!("{EVENT}{end}").into_bytes();
            self.position = 0;
        }
        let length = buffer.len().min(self.part.len() - self.position);
        buffer[..length].copy_from_slice(&self.part[self.position..self.position + length]);
        self.position += length;
        self.read.set(self.read.get() + length as u64);
        Ok(length)
    }
}

#[test]
fn fifty_megabytes_stream_through() {
    const EVENTS: u64 = 600_000;
    const EVENT_BYTES: u64 = EVENT.len() as u64 + 1;
    const MOST_AHEAD: u64 = 256 * 1024;
    let read = Cell::new(0);
    let header = br#"{"qlog_version":"0.3","traces":[{"common_fields":{},"events":["#.to_vec();
    let input = Generated { position: 0, events_left: EVENTS, read: &read, part: header };
    let mut seen = 0_u64;
    let mut furthest_ahead = 0;
    let summary = read_qlog(input, &mut |_| {
        seen += 1;
        furthest_ahead = furthest_ahead.max(read.get() - seen * EVENT_BYTES);
    });
    assert_eq!(summary.expect("a trace").events, EVENTS);
    assert!(read.get() > 50_000_000, "{}", read.get());
    assert!(furthest_ahead < MOST_AHEAD, "{furthest_ahead} bytes read before their events were handed out");
}

#[test]
fn an_event_that_never_ends_is_an_error() {
    let text = br#"{"qlog_version":"0.3","traces":[{"common_fields":{},"events":[{"time":1,"name":"#;
    let endless = text.chain(std::io::repeat(b'"'));
    match read_qlog(endless.take(1 << 30), &mut |_| {}) {
        Err(QlogError::EventTooLong { byte_offset: 62, limit: MAXIMUM_EVENT_BYTES }) => {}
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn a_sample_with_any_bytes_changed_is_survived(
        which in 0..SAMPLES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        copies in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1..40_usize), 0..3),
    ) {
        let mut bytes = SAMPLES[which].1.to_vec();
        for (index, value) in changes {
            let position = index.index(bytes.len());
            bytes[position] = value;
        }
        for (from, to, length) in copies {
            let from = from.index(bytes.len());
            let piece = bytes[from..bytes.len().min(from + length)].to_vec();
            let to = to.index(bytes.len());
            bytes.splice(to..to, piece);
        }
        let _ = read(&bytes);
    }

    #[test]
    fn any_bytes_behind_any_beginning_are_survived(
        beginning in prop::sample::select(vec![
            "", "{", "\x1e{", "{\"traces\":[{\"events\":[", "{\"qlog_version\":\"0.3\",\"trace\":{}}\n", "{\"traces\":[{\"events\":[[",
        ]),
        bytes in "[\\[\\]{}\",:0-9eE.\\-a-z\\\\ \\n\x1e]{0,120}",
    ) {
        let _ = read(format!("{beginning}{bytes}").as_bytes());
    }
}

/// Each trace has a copy of its file's title: 16 MiB of one, and an array of empty traces, would fill any memory.
#[test]
fn a_title_has_at_most_1_kib() {
    for (length, is_kept) in [(1_024, true), (1_025, false)] {
        let title = "x".repeat(length);
        let text = format!(r#"{{"qlog_version":"0.3","title":"{title}","traces":[{{}},{{}}]}}"#);
        let (_, summary) = read(text.as_bytes()).expect("a valid file");
        assert_eq!(summary.traces[1].title.is_some(), is_kept);
        assert_eq!(summary.not_understood.get("title of a file, of more than 1 KiB"), (!is_kept).then_some(&1));
    }
}

#[test]
fn traces_behind_the_first_65536_are_counted() {
    for (traces, behind) in [(65_536, None), (65_537, Some(&1))] {
        let text = format!(r#"{{"qlog_version":"0.3","traces":[{}]}}"#, vec!["{}"; traces].join(","));
        let (_, summary) = read(text.as_bytes()).expect("a valid file");
        assert_eq!(summary.traces.len(), 65_536);
        assert_eq!(summary.not_understood.get("trace behind the first 65536"), behind);
    }
}
