//! Memory does not grow with the capture. Each test of cargo-nextest is alone in its process, so that the peak is that of the writer.

use std::net::SocketAddr;

use quiclab_trace::TraceWriter;
use quiclab_units::Time;
use quiclab_wire::{
    Ack, ConnectionId, Decryption, Flow, Observed, QlogEvent, QlogEventKind, QuicForm, QuicFrame, QuicPacket, Role,
    Segment, Transport,
};

const LIMIT_KIB: u64 = 64 * 1024;

/// `VmHWM` of this process.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_long_capture_needs_little_memory() {
    if !quiclab_testing::has_own_process() {
        return;
    }
    // Groups end where their rows are many, or where their rows are wide.
    for ranges in [1, 30] {
        write(ranges);
        let peak = peak_kib();
        eprintln!("peak: {peak} KiB");
        assert!(peak < LIMIT_KIB, "{peak} KiB at the peak, expected less than {LIMIT_KIB}");
    }
}

/// Writes rows in which every column has values. Where ACKs have several ranges, every text is a new one too.
fn write(ranges: u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = TraceWriter::create(folder.path()).unwrap();
    for number in 0..200_000_u64 {
        let bytes = if ranges > 1 { number } else { 0 }.to_be_bytes();
        let id = ConnectionId::new(&[bytes, bytes].concat());
        let frames = [
            QuicFrame::Ack(Ack {
                encoded_delay: number,
                ranges: (0..ranges).rev().map(|it| it * 3..=it * 3 + 1).collect(),
                ecn: None,
            }),
            QuicFrame::Stream { stream: 0, offset: number * 1000, length: 1000, fin: false, head: None },
            QuicFrame::MaxData { maximum: number },
        ];
        let packets = [QuicPacket {
            form: QuicForm::Initial,
            version: Some(1),
            destination_connection_id: id,
            source_connection_id: id,
            token: 0..0,
            length: 1200,
            packet_number: Some(number),
            key_phase: Some(false),
            decryption: Decryption::Verified,
            frames: 0..frames.len(),
            frame_error: None,
            is_stateless_reset: false,
        }];
        let segment = Segment {
            time: Time::from_nanos(number * 997),
            interface: 0,
            frame_length: 1242,
            captured_length: 1242,
            source: SocketAddr::from(([10, bytes[5], bytes[6], bytes[7]], 443)),
            destination: SocketAddr::from(([10, 0, 0, 1], 5000)),
            payload_length: 1200,
            payload: &[],
            ecn: 0,
            transport: Transport::Udp,
        };
        let observed = Observed {
            flow: 0,
            sender: Role::Server,
            packets: &packets,
            frames: &frames,
            has_foreign_bytes: false,
            has_zero_padding: false,
            is_complete: true,
            connection: &Flow::between(segment.source, segment.destination),
        };
        writer.on_packet(number + 1, &segment, Some(&observed)).unwrap();
        let kind = QlogEventKind::Other(format!("name:{}", u64::from_be_bytes(bytes)));
        writer.on_event("sample.sqlog", &QlogEvent { trace: 0, time_ns: number as i64, kind }).unwrap();
    }
    writer.finish().unwrap();
}
