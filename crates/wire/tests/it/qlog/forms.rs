//! Time formats, orders of members, sequences, and logs that stop in the middle.

use super::*;

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
    assert_eq!(counts, [("record cut short by the next one".to_owned(), 1), ("text between records".to_owned(), 1)]);
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
