//! What is read back is what was written, row by row.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::common::{Row, events, for_each_segment, integer, rows, text, write_trace};
use parquet::record::Field;
use quiclab_trace::{EVENTS_FILE, FRAMES_FILE, PACKETS_FILE, TraceWriter};
use quiclab_units::Time;
use quiclab_wire::{
    Ack, ConnectionId, Decryption, ExtensionFrame, Flow, FrameError, Observed, QlogEvent, QlogEventKind, QlogMetrics,
    QuicForm, QuicFrame, QuicPacket, Role, Segment, TcpFlags, Transport,
};

fn number(value: Option<u64>) -> Field {
    value.map_or(Field::Null, Field::ULong)
}

fn string(value: impl ToString) -> Field {
    Field::Str(value.to_string())
}

fn traced(capture: &str) -> (Vec<Row>, Vec<Row>, Vec<Row>) {
    let folder = tempfile::tempdir().unwrap();
    write_trace(folder.path(), capture, "quiche.sqlog");
    let read = |file| rows(folder.path(), file);
    (read(PACKETS_FILE), read(FRAMES_FILE), read(EVENTS_FILE))
}

#[test]
fn every_packet_of_a_capture_is_a_row() {
    let (packets, frames, _) = traced("ngtcp2.pcapng");
    let (mut packets, mut frames) = (packets.iter(), frames.iter());
    for_each_segment("ngtcp2.pcapng", &mut |frame_number, segment, observed| {
        for (index, packet) in observed.packets.iter().enumerate() {
            let row = packets.next().unwrap();
            for (column, expected) in [
                ("frame_number", Field::ULong(frame_number)),
                ("packet_index", Field::UInt(index as u32)),
                ("time_ns", Field::ULong(segment.time.as_nanos())),
                ("flow", Field::ULong(0)),
                ("sender", string(observed.sender.name())),
                ("protocol", string("udp")),
                ("source", string(segment.source)),
                ("destination", string(segment.destination)),
                ("frame_length_bytes", Field::UInt(segment.frame_length)),
                ("captured_length_bytes", Field::UInt(segment.captured_length)),
                ("payload_length_bytes", Field::UInt(segment.payload_length)),
                ("tcp_flags", Field::Null),
                ("version", packet.version.map_or(Field::Null, Field::UInt)),
                ("destination_connection_id", packet.destination_connection_id.map_or(Field::Null, string)),
                ("source_connection_id", packet.source_connection_id.map_or(Field::Null, string)),
                ("packet_length_bytes", Field::UInt(packet.length)),
                ("packet_number", number(packet.packet_number)),
                ("key_phase", packet.key_phase.map_or(Field::Null, Field::Bool)),
                ("decryption", string("verified")),
                ("is_stateless_reset", Field::Bool(false)),
                ("frame_error_offset_bytes", Field::Null),
                ("frame_error_type", Field::Null),
            ] {
                assert_eq!(row[column], expected, "frame {frame_number}, packet {index}, {column}");
            }
            for (frame_index, frame) in observed.frames[packet.frames.clone()].iter().enumerate() {
                let row = frames.next().unwrap();
                assert_eq!(row["frame_number"], Field::ULong(frame_number));
                assert_eq!(row["packet_index"], Field::UInt(index as u32));
                assert_eq!(row["frame_index"], Field::UInt(frame_index as u32));
                assert_eq!(row["packet_number"], number(packet.packet_number));
                assert_eq!(row["frame_type"], Field::ULong(frame.frame_type()));
                assert_eq!(row["frame_name"], string(frame.name()));
                let (largest, stream) = match frame {
                    QuicFrame::Ack(ack) => (Some(ack.largest()), None),
                    QuicFrame::Stream { stream, .. } => (None, Some(*stream)),
                    _ => (None, None),
                };
                assert_eq!(row["ack_largest"], number(largest));
                if frame.name() == "stream" {
                    assert_eq!(row["stream_id"], number(stream));
                }
            }
        }
    });
    assert_eq!((packets.next(), frames.next()), (None, None));
}

#[test]
fn the_response_is_there_from_its_first_byte_to_its_last() {
    let (packets, frames, _) = traced("ngtcp2.pcapng");
    // As tests/dissection.rs of quiclab-wire has it from tshark.
    let frame_numbers: Vec<i128> = packets.iter().filter_map(|row| integer(row, "frame_number")).collect();
    assert_eq!((frame_numbers.first(), frame_numbers.last()), (Some(&1), Some(&86)));
    // 64 KiB on the request's stream, in captures/README.md, and what HTTP/3 puts before it.
    let ends = frames
        .iter()
        .filter(|row| text(row, "sender").as_deref() == Some("server") && integer(row, "stream_id") == Some(0));
    let end = ends.filter_map(|row| Some(integer(row, "offset")? + integer(row, "length_bytes")?)).max().unwrap();
    assert!((65_536..65_536 + 200).contains(&end), "{end}");
}

#[test]
fn types_of_packets_are_named() {
    for (capture, name) in [
        ("ngtcp2.pcapng", "one_rtt"),
        ("retry.pcapng", "retry"),
        ("zero-rtt.pcapng", "zero_rtt"),
        ("version-negotiation.pcapng", "version_negotiation"),
        ("version-negotiation.pcapng", "unknown_version"),
    ] {
        let (packets, ..) = traced(capture);
        assert!(packets.iter().any(|row| text(row, "packet_type").as_deref() == Some(name)), "{capture} has no {name}");
    }
}

#[test]
fn a_tcp_segment_is_one_row() {
    let (packets, frames, _) = traced("tcp-tls.pcapng");
    assert!(frames.is_empty());
    let mut packets = packets.iter();
    let mut flags = Vec::new();
    for_each_segment("tcp-tls.pcapng", &mut |_, segment, _| {
        let row = packets.next().unwrap();
        let Transport::Tcp { sequence_number, acknowledgment_number, flags: TcpFlags { ack, .. }, .. } =
            segment.transport
        else {
            panic!("this capture is all TCP");
        };
        assert_eq!(row["protocol"], string("tcp"));
        assert_eq!(row["tcp_sequence_number"], Field::UInt(sequence_number));
        assert_eq!(
            row["tcp_acknowledgment_number"],
            if ack { Field::UInt(acknowledgment_number) } else { Field::Null }
        );
        assert_eq!(row["packet_type"], Field::Null);
        flags.push(text(row, "tcp_flags").unwrap());
    });
    assert_eq!(packets.next(), None);
    assert_eq!(flags[..3], ["SYN", "SYN,ACK", "ACK"]);
}

#[test]
fn every_event_of_a_qlog_is_a_row() {
    let (.., rows) = traced("ngtcp2.pcapng");
    let events = events("quiche.sqlog");
    assert_eq!(rows.len(), events.len());
    for (row, event) in rows.iter().zip(&events) {
        assert_eq!((&row["trace"], &row["time_ns"]), (&Field::ULong(0), &Field::Long(event.time_ns)));
        match &event.kind {
            QlogEventKind::PacketSent(packet) => {
                assert_eq!(row["name"], string("packet_sent"));
                assert_eq!(row["packet_number"], number(packet.packet_number));
                assert_eq!(row["length_bytes"], number(packet.length));
                assert_eq!(row["planned_time_ns"], packet.planned_time_ns.map_or(Field::Null, Field::Long));
                assert_eq!(row["congestion_window_bytes"], Field::Null);
            }
            QlogEventKind::Metrics(metrics) => {
                assert_eq!(row["name"], string("metrics_updated"));
                assert_eq!(row["smoothed_rtt_ns"], number(metrics.smoothed_rtt_ns));
                assert_eq!(row["congestion_window_bytes"], number(metrics.congestion_window_bytes));
                assert_eq!(row["pacing_rate_bps"], number(metrics.pacing_rate_bps));
            }
            QlogEventKind::CongestionState { new } => assert_eq!(row["congestion_state"], string(new)),
            QlogEventKind::Other(name) => assert_eq!(row["name"], string(name)),
            _ => {}
        }
    }
    // The fourth line of the sample: 333 ms, 13 500 bytes, 116 959 bytes per second.
    let metrics = rows.iter().find(|row| row["name"] == string("metrics_updated")).unwrap();
    assert_eq!(metrics["time_ns"], Field::Long(265_000));
    assert_eq!(metrics["smoothed_rtt_ns"], Field::ULong(333_000_000));
    assert_eq!(metrics["rtt_variance_ns"], Field::ULong(166_500_000));
    assert_eq!(metrics["congestion_window_bytes"], Field::ULong(13_500));
    assert_eq!(metrics["pacing_rate_bps"], Field::ULong(935_672));
    assert_eq!(metrics["ssthresh_bytes"], Field::Null);
}

fn segment() -> Segment<'static> {
    let address = |port| SocketAddr::from(([10, 0, 0, 1], port));
    Segment {
        time: Time::from_nanos(u64::MAX),
        interface: 1,
        frame_length: 142,
        captured_length: 42,
        source: address(443),
        destination: address(5000),
        payload_length: 100,
        payload: &[],
        ecn: 0,
        transport: Transport::Udp,
    }
}

fn packet(form: QuicForm, frames: std::ops::Range<usize>) -> QuicPacket {
    QuicPacket {
        form,
        version: None,
        destination_connection_id: None,
        source_connection_id: None,
        token: 0..0,
        length: 30,
        packet_number: Some(7),
        key_phase: None,
        decryption: Decryption::Verified,
        frames,
        frame_error: None,
        is_stateless_reset: false,
    }
}

/// Rows of one datagram, and of its frames.
fn written(observed: Option<&Observed>) -> (Vec<Row>, Vec<Row>) {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = TraceWriter::create(folder.path()).unwrap();
    writer.on_packet(1, &segment(), observed).unwrap();
    writer.finish().unwrap();
    (rows(folder.path(), PACKETS_FILE), rows(folder.path(), FRAMES_FILE))
}

#[test]
fn a_datagram_of_which_nothing_is_known_is_one_row() {
    let (packets, frames) = written(None);
    assert_eq!((packets.len(), frames.len()), (1, 0));
    assert_eq!(packets[0]["time_ns"], Field::ULong(u64::MAX));
    for column in ["flow", "sender", "packet_type", "packet_number", "decryption", "is_stateless_reset"] {
        assert_eq!(packets[0][column], Field::Null, "{column}");
    }
}

#[test]
fn foreign_bytes_are_a_row_of_their_own() {
    let broken = QuicPacket {
        frame_error: Some(FrameError { offset: 9, frame_type: Some(757), is_known_type: false }),
        key_phase: Some(true),
        ..packet(QuicForm::OneRtt, 0..0)
    };
    let packets = [packet(QuicForm::Initial, 0..0), broken];
    let (rows, _) = written(Some(&Observed {
        flow: 3,
        sender: Role::Server,
        packets: &packets,
        frames: &[],
        has_foreign_bytes: true,
        has_zero_padding: false,
        is_complete: true,
        connection: &Flow::between(([10, 0, 0, 1], 443).into(), ([10, 0, 0, 2], 5000).into()),
    }));
    let types: Vec<_> = rows.iter().filter_map(|row| text(row, "packet_type")).collect();
    assert_eq!(types, ["initial", "one_rtt", "not_quic"]);
    assert_eq!(rows[1]["frame_error_offset_bytes"], Field::ULong(9));
    assert_eq!(rows[1]["frame_error_type"], Field::ULong(757));
    assert_eq!(rows[1]["key_phase"], Field::Bool(true));
    let last = &rows[2];
    assert_eq!(last["packet_index"], Field::UInt(2));
    assert_eq!(last["packet_length_bytes"], Field::UInt(40));
    assert_eq!(last["flow"], Field::ULong(3));
    for column in ["packet_number", "key_phase", "decryption", "frame_error_offset_bytes"] {
        assert_eq!(last[column], Field::Null, "{column}");
    }
}

#[test]
fn frames_fill_the_columns_that_they_have() {
    let all: Vec<(QuicFrame, Vec<(&str, Field)>)> = vec![
        (QuicFrame::Padding { length: 5 }, vec![("length_bytes", Field::ULong(5))]),
        (QuicFrame::Ping, vec![]),
        (
            QuicFrame::Ack(Ack { encoded_delay: 4, ranges: vec![8..=10, 5..=5], ecn: Some([1, 2, 3]) }),
            vec![
                ("ack_largest", Field::ULong(10)),
                ("ack_delay_encoded", Field::ULong(4)),
                ("ack_ranges", string("[{first: 8, last: 10}, {first: 5, last: 5}]")),
                ("ecn_ect0", Field::ULong(1)),
                ("ecn_ect1", Field::ULong(2)),
                ("ecn_ce", Field::ULong(3)),
            ],
        ),
        (
            QuicFrame::ResetStream { stream: 4, error: 5, final_size: 6 },
            vec![
                ("stream_id", Field::ULong(4)),
                ("error_code", Field::ULong(5)),
                ("final_size_bytes", Field::ULong(6)),
            ],
        ),
        (
            QuicFrame::StopSending { stream: 4, error: 5 },
            vec![("stream_id", Field::ULong(4)), ("error_code", Field::ULong(5))],
        ),
        (
            QuicFrame::Crypto { offset: 9, data: 20..35 },
            vec![("offset", Field::ULong(9)), ("length_bytes", Field::ULong(15))],
        ),
        (QuicFrame::NewToken { length: 8 }, vec![("length_bytes", Field::ULong(8))]),
        (
            QuicFrame::Stream { stream: 0, offset: (1 << 62) - 1, length: 0, fin: true, head: None },
            vec![
                ("stream_id", Field::ULong(0)),
                ("offset", Field::ULong((1 << 62) - 1)),
                ("length_bytes", Field::ULong(0)),
                ("fin", Field::Bool(true)),
            ],
        ),
        (QuicFrame::MaxData { maximum: 1 }, vec![("maximum", Field::ULong(1))]),
        (
            QuicFrame::MaxStreamData { stream: 3, maximum: 2 },
            vec![("stream_id", Field::ULong(3)), ("maximum", Field::ULong(2))],
        ),
        (QuicFrame::MaxStreams { bidirectional: true, maximum: 3 }, vec![("maximum", Field::ULong(3))]),
        (QuicFrame::DataBlocked { limit: 4 }, vec![("maximum", Field::ULong(4))]),
        (
            QuicFrame::StreamDataBlocked { stream: 3, limit: 5 },
            vec![("stream_id", Field::ULong(3)), ("maximum", Field::ULong(5))],
        ),
        (QuicFrame::StreamsBlocked { bidirectional: false, limit: 6 }, vec![("maximum", Field::ULong(6))]),
        (
            QuicFrame::NewConnectionId {
                sequence: 2,
                retire_prior_to: 1,
                connection_id: ConnectionId::new(&[0xab, 0x01]).unwrap(),
                reset_token: [0; 16],
            },
            vec![
                ("sequence", Field::ULong(2)),
                ("retire_prior_to", Field::ULong(1)),
                ("connection_id", string("ab01")),
            ],
        ),
        (QuicFrame::RetireConnectionId { sequence: 1 }, vec![("sequence", Field::ULong(1))]),
        (QuicFrame::PathChallenge { data: [7; 8] }, vec![]),
        (QuicFrame::PathResponse { data: [7; 8] }, vec![]),
        (
            QuicFrame::ConnectionClose { error: 0x0a, by_application: false, reason: "".into() },
            vec![("error_code", Field::ULong(0x0a))],
        ),
        (QuicFrame::HandshakeDone, vec![]),
        (QuicFrame::Datagram { length: 11 }, vec![("length_bytes", Field::ULong(11))]),
        (
            QuicFrame::AckFrequency {
                sequence: 1,
                ack_eliciting_threshold: 2,
                requested_max_ack_delay_us: 3,
                reordering_threshold: 4,
            },
            vec![
                ("sequence", Field::ULong(1)),
                ("ack_eliciting_threshold", Field::ULong(2)),
                ("requested_max_ack_delay_us", Field::ULong(3)),
                ("reordering_threshold", Field::ULong(4)),
            ],
        ),
        (QuicFrame::ImmediateAck, vec![]),
        (
            QuicFrame::Extension(ExtensionFrame::TimeStamp { time_stamp: 12 }),
            vec![("time_stamp_encoded", Field::ULong(12))],
        ),
        (
            QuicFrame::Extension(ExtensionFrame::ResetStreamAt {
                stream: 4,
                error: 5,
                final_size: 9,
                reliable_size: 3,
            }),
            vec![
                ("stream_id", Field::ULong(4)),
                ("error_code", Field::ULong(5)),
                ("final_size_bytes", Field::ULong(9)),
                ("reliable_size_bytes", Field::ULong(3)),
            ],
        ),
        (
            QuicFrame::Extension(ExtensionFrame::PathAck {
                path: 2,
                ack: Ack { encoded_delay: 4, ranges: vec![5..=5], ecn: None },
            }),
            vec![
                ("path_id", Field::ULong(2)),
                ("ack_largest", Field::ULong(5)),
                ("ack_delay_encoded", Field::ULong(4)),
                ("ack_ranges", string("[{first: 5, last: 5}]")),
            ],
        ),
        (
            QuicFrame::Extension(ExtensionFrame::PathRetireConnectionId { path: 2, sequence: 7 }),
            vec![("path_id", Field::ULong(2)), ("sequence", Field::ULong(7))],
        ),
        (QuicFrame::Extension(ExtensionFrame::MaxPathId { maximum: 6 }), vec![("maximum", Field::ULong(6))]),
    ];
    let frames: Vec<QuicFrame> = all.iter().map(|(frame, _)| frame.clone()).collect();
    let packets = [packet(QuicForm::OneRtt, 0..frames.len())];
    let (_, rows) = written(Some(&Observed {
        flow: 0,
        sender: Role::Client,
        packets: &packets,
        frames: &frames,
        has_foreign_bytes: false,
        has_zero_padding: false,
        is_complete: true,
        connection: &Flow::between(([10, 0, 0, 1], 443).into(), ([10, 0, 0, 2], 5000).into()),
    }));
    assert_eq!(rows.len(), all.len());
    let common = [
        "frame_number",
        "packet_index",
        "frame_index",
        "time_ns",
        "flow",
        "sender",
        "packet_type",
        "packet_number",
        "frame_type",
        "frame_name",
    ];
    for (row, (frame, expected)) in rows.iter().zip(&all) {
        let filled = row.iter().filter(|(column, value)| **value != Field::Null && !common.contains(&column.as_str()));
        // A list has no constructor to compare with; it is compared by what it shows.
        let filled: BTreeMap<&str, Field> = filled
            .map(|(column, value)| match value {
                Field::ListInternal(_) => (column.as_str(), string(value)),
                _ => (column.as_str(), value.clone()),
            })
            .collect();
        assert_eq!(filled, expected.iter().cloned().collect(), "{frame:?}");
        assert_eq!(row["frame_type"], Field::ULong(frame.frame_type()));
        assert_eq!(row["frame_name"], string(frame.name()));
    }
}

#[test]
fn the_largest_and_smallest_integers_survive() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = TraceWriter::create(folder.path()).unwrap();
    let values = [Some(u64::MAX), None, Some(0), Some(u64::MAX), Some(1 << 63)];
    for (ssthresh_bytes, time_ns) in values.into_iter().zip([i64::MIN, i64::MAX, 0, -1, i64::MIN]) {
        let kind = QlogEventKind::Metrics(QlogMetrics { ssthresh_bytes, ..QlogMetrics::default() });
        writer.on_event("sample.sqlog", &QlogEvent { trace: 0, time_ns, kind }).unwrap();
    }
    writer.finish().unwrap();
    let rows = rows(folder.path(), EVENTS_FILE);
    assert_eq!(rows.iter().map(|row| row["ssthresh_bytes"].clone()).collect::<Vec<_>>(), values.map(number));
    let times: Vec<_> = rows.iter().filter_map(|row| integer(row, "time_ns")).collect();
    assert_eq!(times, [i64::MIN, i64::MAX, 0, -1, i64::MIN].map(i128::from));
}
