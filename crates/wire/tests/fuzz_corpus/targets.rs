//! What the fuzzer runs (`crates/wire/fuzz`), and what `tests/fuzz_corpus.rs` replays: one function for each target.
//! A wrong answer panics as a crash does.
#![allow(dead_code)]

pub mod connection;
pub mod datagrams;
pub mod seal;

use std::io::Read;

use quiclab_wire::{Capture, CaptureReader, ExtensionFrame, FrameError, KeyLog, QuicFrame, parse_frames, read_qlog};

pub use connection::connection;
pub use datagrams::quic;

type Target = fn(&[u8]);

/// All targets by the names of their corpora.
pub const ALL: [(&str, Target); 6] = [
    ("capture", capture),
    ("quic", quic),
    ("connection", connection),
    ("frames", frames),
    ("qlog", qlog),
    ("key_log", key_log),
];

/// Most bytes a compressed capture may become here: bombs cost time, and find nothing.
const MAXIMUM_UNPACKED_BYTES: u64 = 8 * 1024 * 1024;

/// Frame by frame; and the same through [`Capture::read`] from a reader that gives few bytes at a time.
pub fn capture(input: &[u8]) {
    let Ok(mut reader) = CaptureReader::new(input) else {
        assert!(Capture::read(Trickle(input)).is_err());
        return;
    };
    let mut packets = Vec::new();
    let mut skipped = 0;
    let mut end_of_last = 0;
    let result = loop {
        let frame = match reader.next_frame() {
            Ok(Some(frame)) => frame,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error.to_string()),
        };
        assert!(frame.byte_offset >= end_of_last, "frames overlap");
        end_of_last = frame.byte_offset + frame.captured.len() as u64;
        match frame.segment() {
            Ok(segment) => {
                assert!(segment.payload.len() as u64 <= u64::from(segment.payload_length));
                assert!(segment.payload.len() <= frame.captured.len());
                packets.push(segment.to_packet());
            }
            Err(_) => skipped += 1,
        }
        if end_of_last > MAXIMUM_UNPACKED_BYTES {
            return;
        }
    };
    assert!(matches!(reader.next_frame(), Ok(None)), "reading on gives something");
    match (result, Capture::read(Trickle(input))) {
        (Ok(()), Ok(capture)) => {
            assert_eq!(capture.packets, packets);
            assert_eq!(capture.skipped.values().sum::<u64>(), skipped + reader.summary().skipped.values().sum::<u64>());
            assert_eq!(capture.interfaces, reader.summary().interfaces);
            assert_eq!(capture.secrets, reader.summary().secrets);
            assert_eq!(capture.truncation, reader.summary().truncation);
        }
        (Err(error), Err(other)) => assert_eq!(error, other.to_string()),
        (result, other) => panic!("whole: {result:?}, in pieces: {:?}", other.map(|_| ())),
    }
}

/// The frames of a payload.
pub fn frames(input: &[u8]) {
    let mut frames = Vec::new();
    let result = parse_frames(input, &mut frames);
    for frame in &frames {
        check_frame(frame, input.len());
    }
    if let Err(FrameError { offset, .. }) = result {
        assert!(offset < input.len());
        let mut before = Vec::new();
        assert_eq!(parse_frames(&input[..offset], &mut before), Ok(()), "the frames before the one that is broken");
        assert_eq!(before, frames);
    }
}

/// What holds of every frame of a payload of this length.
fn check_frame(frame: &QuicFrame, payload_bytes: usize) {
    match frame {
        QuicFrame::Ack(ack) | QuicFrame::Extension(ExtensionFrame::PathAck { ack, .. }) => {
            assert!(!ack.ranges.is_empty());
            assert!(ack.ranges.iter().all(|range| range.start() <= range.end()));
            assert!(ack.ranges.windows(2).all(|pair| pair[1].end() + 1 < *pair[0].start()), "{:?}", ack.ranges);
            assert!(ack.largest() < 1 << 62);
        }
        QuicFrame::Crypto { data, .. } => assert!(data.start <= data.end && data.end <= payload_bytes),
        QuicFrame::Stream { offset, length, .. } => {
            assert!(*length <= payload_bytes as u64 && offset + length < 1 << 62);
        }
        QuicFrame::Padding { length } | QuicFrame::NewToken { length } | QuicFrame::Datagram { length } => {
            assert!(*length <= payload_bytes as u64);
        }
        _ => {}
    }
    assert!(!frame.name().is_empty());
}

/// A qlog file, whole and in pieces.
pub fn qlog(input: &[u8]) {
    let mut events = Vec::new();
    let result = read_qlog(input, &mut |event| events.push(event));
    let mut again = Vec::new();
    let result_again = read_qlog(Trickle(input), &mut |event| again.push(event));
    assert_eq!(events, again);
    match (result, result_again) {
        (Ok(summary), Ok(other)) => {
            assert_eq!(summary, other);
            assert_eq!(summary.events, events.len() as u64);
            assert!(events.iter().all(|event| event.trace < summary.traces.len()));
            assert!(summary.cut_at_byte.is_none_or(|offset| offset <= input.len() as u64));
        }
        (Err(error), Err(other)) => assert_eq!(error.to_string(), other.to_string()),
        (result, other) => panic!("whole: {result:?}, in pieces: {other:?}"),
    }
}

/// A key log at once, and line by line.
pub fn key_log(input: &[u8]) {
    let mut log = KeyLog::default();
    log.read(input);
    let mut lines = KeyLog::default();
    input.split(|byte| *byte == b'\n').for_each(|line| lines.read(line));
    assert_eq!(log.connections(), lines.connections());
    assert_eq!(log.lines_not_understood(), lines.lines_not_understood());
    assert!(log.connections() as u64 + log.lines_not_understood() <= 1 + input.len() as u64);
    assert_eq!(log.client_randoms().count(), log.connections());
    for random in log.client_randoms() {
        assert!(log.knows(random));
        assert!(seal::LABELS.iter().any(|(label, _)| !log.secrets(random, *label).is_empty()));
        for (label, _) in seal::LABELS {
            assert_eq!(log.secrets(random, label), lines.secrets(random, label));
        }
    }
}

/// Gives 1 to 61 bytes at a time.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = 1 + self.0.len() % 61;
        let length = most.min(buffer.len());
        self.0.read(&mut buffer[..length])
    }
}
