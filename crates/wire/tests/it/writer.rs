//! What the writer writes, the reader reads; what contradicts itself is not written.

use quiclab_testing::frames::{CLIENT, SERVER, udp_from_server};
use quiclab_units::Time;
use quiclab_wire::{Capture, CaptureWriter, Direction, PacketToWrite, TapDescription, WriteError};

/// 2026-01-01 00:00:00 UTC: its nanoseconds need both halves of the time field.
const START_NS: u64 = 1_767_225_600_000_000_000;
const KEY_LOG: &[u8] = b"CLIENT_TRAFFIC_SECRET_0 0011 2233\n";
const TAPS: [TapDescription; 2] = [
    TapDescription { name: "server-egress", snap_length: None },
    TapDescription { name: "behind-bottleneck", snap_length: Some(64) },
];

/// (interface, ns after the start, payload bytes, bytes captured)
const PACKETS: [(u32, u64, usize, usize); 5] = [
    (0, 0, 1200, 1242),
    (0, 1, 1201, 1243),
    (1, 20_000_001, 1200, 64),
    (0, 999_999_999, 22, 64),
    (1, 4_294_967_296, 1350, 42),
];

fn write() -> Vec<u8> {
    let mut writer = CaptureWriter::new(Vec::new(), &TAPS, Some(KEY_LOG)).unwrap();
    for (interface, after_ns, payload_bytes, captured_bytes) in PACKETS {
        let frame = udp_from_server(&vec![0x40; payload_bytes]);
        writer
            .write_packet(&PacketToWrite {
                time: Time::from_nanos(START_NS + after_ns),
                interface,
                frame_length: frame.len() as u32,
                captured: &frame[..captured_bytes],
                direction: (interface == 0).then_some(Direction::Outbound),
            })
            .unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn what_was_written_is_read_back() {
    let capture = Capture::read(write().as_slice()).unwrap();
    let names: Vec<_> = capture.interfaces.iter().map(|it| it.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["server-egress", "behind-bottleneck"]);
    assert_eq!(capture.interfaces[0].snap_length, None);
    assert_eq!(capture.interfaces[1].snap_length, Some(64));
    assert_eq!(capture.secrets.len(), 1);
    assert_eq!(capture.secrets[0].data, KEY_LOG);
    assert_eq!(capture.truncation, None);
    assert!(capture.skipped.is_empty());
    assert_eq!(capture.packets.len(), PACKETS.len());
    for (packet, (interface, after_ns, payload_bytes, captured_bytes)) in capture.packets.iter().zip(PACKETS) {
        assert_eq!(packet.interface, interface);
        assert_eq!(packet.time.as_nanos(), START_NS + after_ns);
        assert_eq!(packet.payload_length as usize, payload_bytes);
        assert_eq!(packet.frame_length as usize, payload_bytes + 42);
        assert_eq!(packet.captured_length as usize, captured_bytes);
        assert_eq!((packet.source, packet.destination), (SERVER, CLIENT));
    }
}

#[test]
fn the_same_calls_give_the_same_bytes() {
    assert_eq!(write(), write());
}

#[test]
fn the_file_holds_nothing_that_was_not_given() {
    let writer = CaptureWriter::new(Vec::new(), &[TapDescription { name: "a", snap_length: Some(1) }], None).unwrap();
    let section_header = [
        0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255,
        255, 28, 0, 0, 0,
    ];
    let interface = [
        1, 0, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 1, 0, b'a', 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0,
        40, 0, 0, 0,
    ];
    assert_eq!(writer.finish().unwrap(), [section_header.as_slice(), &interface].concat());
}

#[test]
fn packets_that_contradict_themselves_are_refused_and_leave_no_trace() {
    let mut writer = CaptureWriter::new(Vec::new(), &TAPS, None).unwrap();
    let good = PacketToWrite {
        time: Time::from_nanos(100),
        interface: 1,
        frame_length: 64,
        captured: &[0; 64],
        direction: None,
    };
    writer.write_packet(&good).unwrap();
    let refused = |writer: &mut CaptureWriter<Vec<u8>>, packet| writer.write_packet(&packet).unwrap_err();
    let backwards = PacketToWrite { time: Time::from_nanos(99), ..good };
    assert!(matches!(refused(&mut writer, backwards), WriteError::TimeBackwards { .. }));
    let nowhere = PacketToWrite { interface: 2, ..good };
    assert!(matches!(refused(&mut writer, nowhere), WriteError::UnknownInterface { interfaces: 2, .. }));
    let longer_than_frame = PacketToWrite { frame_length: 63, ..good };
    assert!(matches!(refused(&mut writer, longer_than_frame), WriteError::TooManyBytes { limit: 63, .. }));
    let longer_than_kept = PacketToWrite { frame_length: 65, captured: &[0; 65], ..good };
    assert!(matches!(refused(&mut writer, longer_than_kept), WriteError::TooManyBytes { limit: 64, .. }));
    writer.write_packet(&good).unwrap();
    let capture = Capture::read(writer.finish().unwrap().as_slice()).unwrap();
    assert_eq!(capture.skipped.values().sum::<u64>(), 2);
}

#[test]
fn a_name_of_65535_bytes_passes_and_one_more_does_not() {
    let named = |length| {
        let name = "n".repeat(length);
        CaptureWriter::new(Vec::new(), &[TapDescription { name: &name, snap_length: None }], None)
            .map(|writer| writer.finish().unwrap())
    };
    let capture = Capture::read(named(65_535).unwrap().as_slice()).unwrap();
    assert_eq!(capture.interfaces[0].name.as_ref().unwrap().len(), 65_535);
    assert!(matches!(named(65_536), Err(WriteError::TooLong { .. })));
}
