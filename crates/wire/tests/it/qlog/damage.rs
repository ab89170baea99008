//! What is no qlog, what makes no sense, and what would take too much memory.

use super::*;

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
        assert_eq!(summary.not_understood.get("trace after the first 65536"), behind);
    }
}
