//! tshark reads what we write, and sees in it what we see. Skipped, with a word on stderr, where it is not installed.

use std::process::Command;

use quiclab_testing::{frames::udp_from_server, has_program};
use quiclab_units::Time;
use quiclab_wire::{
    CaptureReader, CaptureWriter, Direction, Dissector, Observed, PacketToWrite, QuicForm, Segment, TapDescription,
};

/// 2026-01-01 00:00:00 UTC: its nanoseconds need both halves of the time field.
const START_NS: u64 = 1_767_225_600_000_000_000;
const TAPS: [TapDescription; 2] = [
    TapDescription { name: "server-egress", snap_length: None },
    TapDescription { name: "behind-bottleneck", snap_length: Some(64) },
];

/// One line per packet, fields parted by tabs, several values of a field by commas. `None` without tshark.
fn tshark(capture: &[u8], fields: &[&str]) -> Option<Vec<String>> {
    if !has_program("tshark", "tshark") {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("written.pcapng");
    std::fs::write(&path, capture).unwrap();
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&path);
    tshark.args(["-d", "udp.port==4433,quic", "-T", "fields"]);
    for field in fields {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    let lines = String::from_utf8(output.stdout).unwrap();
    Some(lines.lines().map(str::to_owned).collect())
}

#[test]
fn tshark_reads_the_same_times_lengths_and_interfaces() {
    // (interface, ns after the start, payload bytes, bytes captured)
    let packets: [(u32, u64, usize, usize); 5] = [
        (0, 0, 1200, 1242),
        (0, 1, 1201, 1243),
        (1, 20_000_001, 1200, 64),
        (0, 999_999_999, 22, 64),
        (1, 4_294_967_296, 1350, 42),
    ];
    let key_log = b"CLIENT_TRAFFIC_SECRET_0 0011 2233\n";
    let mut writer = CaptureWriter::new(Vec::new(), &TAPS, Some(key_log)).unwrap();
    let mut expected = Vec::new();
    for (interface, after_ns, payload_bytes, captured_bytes) in packets {
        let frame = udp_from_server(&vec![0x40; payload_bytes]);
        let time_ns = START_NS + after_ns;
        writer
            .write_packet(&PacketToWrite {
                time: Time::from_nanos(time_ns),
                interface,
                frame_length: frame.len() as u32,
                captured: &frame[..captured_bytes],
                direction: (interface == 0).then_some(Direction::Outbound),
            })
            .unwrap();
        expected.push(format!(
            "{}.{:09}\t{}\t{captured_bytes}\t{}\t{}\t{}",
            time_ns / 1_000_000_000,
            time_ns % 1_000_000_000,
            frame.len(),
            TAPS[interface as usize].name,
            payload_bytes + 8,
            if interface == 0 { "0x00000002" } else { "" },
        ));
    }
    let fields =
        ["frame.time_epoch", "frame.len", "frame.cap_len", "frame.interface_name", "udp.length", "frame.packet_flags"];
    let Some(lines) = tshark(&writer.finish().unwrap(), &fields) else {
        return;
    };
    assert_eq!(lines, expected);
}

/// A long header packet with an 8-byte connection ID and 60 protected bytes.
fn long(first_byte: u8, version: u32, is_initial: bool) -> Vec<u8> {
    let mut packet = vec![first_byte];
    packet.extend(version.to_be_bytes());
    packet.push(8);
    packet.extend(CONNECTION_ID);
    packet.push(0);
    if is_initial {
        packet.push(0);
    }
    packet.extend([0x40, 60]);
    packet.extend([0xcc; 60]);
    packet
}

const CONNECTION_ID: [u8; 8] = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];

#[test]
fn tshark_finds_the_same_quic_packets() {
    let short = [&[0x4f], CONNECTION_ID.as_slice(), &[0xdd; 40]].concat();
    let initial = long(0xc3, 1, true);
    let zero_rtt = long(0xd3, 1, false);
    let handshake = long(0xe3, 1, false);
    let initial_2 = long(0xd3, 0x6b33_43cf, true);
    let handshake_2 = long(0xf3, 0x6b33_43cf, false);
    let negotiation = vec![0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    // tshark believes in a coalesced 1-RTT packet only of a connection whose client it has seen: its first Initial names
    // the connection ID that the server's packets carry.
    let mut from_client = vec![0xc3, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 8];
    from_client.extend(CONNECTION_ID);
    from_client.extend([0, 0x44, 0x96]);
    from_client.resize(1200, 0xcc);
    let datagrams = [
        from_client,
        initial.clone(),
        [initial.clone(), zero_rtt.clone()].concat(),
        [initial, handshake.clone(), short.clone()].concat(),
        [handshake.clone(), short.clone()].concat(),
        short,
        initial_2,
        handshake_2,
        negotiation,
        handshake,
        zero_rtt,
    ];
    let mut writer = CaptureWriter::new(Vec::new(), &TAPS, None).unwrap();
    for (number, datagram) in datagrams.iter().enumerate() {
        let mut frame = udp_from_server(datagram);
        if number == 0 {
            // Source and destination of IPv4 and UDP change places.
            frame[26..34].rotate_left(4);
            frame[34..38].rotate_left(2);
        }
        writer
            .write_packet(&PacketToWrite {
                time: Time::from_nanos(START_NS + number as u64),
                interface: 0,
                frame_length: frame.len() as u32,
                captured: &frame,
                direction: None,
            })
            .unwrap();
    }
    let file = writer.finish().unwrap();
    let fields = ["quic.header_form", "quic.long.packet_type", "quic.long.packet_type_v2", "quic.version"];
    let Some(lines) = tshark(&file, &fields) else {
        return;
    };
    let mut ours: Vec<Vec<QuicForm>> = Vec::new();
    let mut reader = CaptureReader::new(file.as_slice()).unwrap();
    let mut on_segment = |_, _: &Segment, observed: Option<&Observed>| {
        ours.push(observed.unwrap().packets.iter().map(|packet| packet.form).collect());
    };
    reader.dissect(&mut Dissector::default(), None, &mut on_segment).unwrap();
    assert_eq!(lines.len(), ours.len());
    for (line, ours) in lines.iter().zip(&ours) {
        let columns: Vec<Vec<&str>> =
            line.split('\t').map(|field| field.split(',').filter(|it| !it.is_empty()).collect()).collect();
        let [header_forms, types, types_2, versions] = columns.as_slice() else {
            panic!("{line}");
        };
        let theirs = [
            // RFC 9000 table 5, RFC 9369 section 3.2.
            (QuicForm::Initial, types.contains(&"0") || types_2.contains(&"1")),
            (QuicForm::ZeroRtt, types.contains(&"1") || types_2.contains(&"2")),
            (QuicForm::Handshake, types.contains(&"2") || types_2.contains(&"3")),
            (QuicForm::VersionNegotiation, versions.contains(&"0x00000000")),
            (QuicForm::OneRtt, header_forms.iter().any(|form| matches!(*form, "0" | "False"))),
        ];
        for (form, is_there) in theirs {
            assert_eq!(ours.contains(&form), is_there, "{form:?} in {ours:?}; tshark: {line}");
        }
    }
}
