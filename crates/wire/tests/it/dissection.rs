//! What we see inside captures of real stacks is what tshark sees, packet by packet. Skipped, with a word on stderr, where
//! tshark is not installed. The captures are described in `data/captures/README.md`.

use std::path::Path;
use std::process::Command;

use quiclab_testing::{files::capture, has_program};
use quiclab_wire::{
    CaptureReader, CipherSuite, Decryption, Dissector, DissectorSettings, QuicForm, QuicFrame, Role, TlsHandshake,
    VERSION_1, VERSION_2,
};

/// One line per datagram or segment, in the words of tshark's fields.
fn ours(path: &Path) -> (Vec<Vec<String>>, Dissector) {
    let mut reader = CaptureReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let mut dissector = Dissector::new(DissectorSettings::default());
    let mut lines = Vec::new();
    let mut secrets = 0;
    loop {
        if reader.summary().secrets.len() > secrets {
            secrets = reader.summary().secrets.len();
            dissector.add_secrets(&reader.summary().secrets);
        }
        let Some(frame) = reader.next_frame().unwrap() else { break };
        // The secrets stand before the first packet, but the reader sees them with it.
        if secrets == 0 {
            dissector.add_keys(&key_log(path));
            secrets = 1;
        }
        let time = frame.time.as_nanos();
        let Ok(segment) = frame.segment() else { continue };
        let (length, payload_length) = (segment.frame_length, segment.payload_length);
        let observed = dissector.on_segment(&segment).unwrap();
        let packets = observed.packets;
        for packet in packets {
            assert!(
                matches!(packet.decryption, Decryption::Verified | Decryption::NotProtected),
                "line {}: {packet:?}",
                lines.len() + 1
            );
            assert_eq!(packet.frame_error, None);
        }
        let list = |values: Vec<u64>| values.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let of_frames =
            |select: &dyn Fn(&QuicFrame) -> Option<u64>| list(observed.frames.iter().filter_map(select).collect());
        lines.push(vec![
            format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000),
            length.to_string(),
            payload_length.to_string(),
            list(packets.iter().map(|packet| u64::from(packet.length)).collect()),
            list(packets.iter().filter_map(|packet| packet.packet_number).collect()),
            of_frames(&|frame| Some(frame.frame_type())),
            of_frames(&|frame| match frame {
                QuicFrame::Stream { stream, .. } => Some(*stream),
                _ => None,
            }),
            of_frames(&|frame| match frame {
                QuicFrame::Stream { offset, .. } if *offset > 0 => Some(*offset),
                _ => None,
            }),
            of_frames(&|frame| match frame {
                QuicFrame::Crypto { offset, .. } => Some(*offset),
                _ => None,
            }),
            of_frames(&|frame| match frame {
                QuicFrame::Ack(ack) => Some(ack.largest()),
                _ => None,
            }),
            of_frames(&|frame| match frame {
                QuicFrame::Ack(ack) => Some(ack.encoded_delay),
                _ => None,
            }),
        ]);
    }
    assert!(dissector.flows().iter().all(|flow| flow.roles_are_known()));
    (lines, dissector)
}

fn key_log(path: &Path) -> Vec<u8> {
    let mut reader = CaptureReader::new(std::fs::File::open(path).unwrap()).unwrap();
    while reader.next_frame().unwrap().is_some() {}
    reader.summary().secrets.iter().flat_map(|secrets| secrets.data.clone()).collect()
}

/// The same lines by tshark; `None` where it is not installed.
fn theirs(path: &Path) -> Option<Vec<Vec<String>>> {
    let fields = [
        "frame.time_epoch",
        "frame.len",
        "udp.length",
        "quic.packet_length",
        "quic.packet_number",
        "quic.frame_type",
        "quic.stream.stream_id",
        "quic.stream.offset",
        "quic.crypto.offset",
        "quic.ack.largest_acknowledged",
        "quic.ack.ack_delay",
    ];
    if !has_program("tshark", "tshark") {
        return None;
    }
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(path).args(["-d", "udp.port==4433,quic", "-Y", "udp && !icmp && !icmpv6", "-T", "fields"]);
    for field in fields {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| their_line(line.split('\t').collect())).collect())
}

/// Differences of presentation: the header's 8 bytes in `udp.length`; offsets of 0, which a frame may leave out; one type
/// for each combination of a frame's flags.
fn their_line(columns: Vec<&str>) -> Vec<String> {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(',').filter(|it| !it.is_empty()).map(|it| it.parse().unwrap()).collect()
    };
    let list = |values: Vec<u64>| values.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let mut line: Vec<String> = columns.iter().map(|&column| column.to_owned()).collect();
    line[2] = list(numbers(columns[2]).into_iter().map(|length| length - 8).collect());
    line[5] = list(
        numbers(columns[5])
            .into_iter()
            .map(|kind| match kind {
                0x08..=0x0f => 0x08,
                0x31 => 0x30,
                other => other,
            })
            .collect(),
    );
    line[7] = list(numbers(columns[7]).into_iter().filter(|offset| *offset > 0).collect());
    line
}

fn assert_same(name: &str) -> usize {
    let path = capture(name);
    let (ours, _) = ours(&path);
    let Some(theirs) = theirs(&path) else {
        return ours.len();
    };
    assert_eq!(ours.len(), theirs.len(), "{name}");
    for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        // tshark reads a packet number in a version that it cannot know either (RFC 8999 shows none).
        if ours[3] == theirs[3] && name == "version-negotiation.pcapng" && number == 0 {
            continue;
        }
        assert_eq!(ours, theirs, "{name}, packet {}", number + 1);
    }
    ours.len()
}

macro_rules! read_as_tshark_reads_it {
    ($($test:ident: $file:literal, $packets:literal;)*) => {
        $(#[test]
        fn $test() {
            assert_eq!(assert_same($file), $packets);
        })*
    };
}

read_as_tshark_reads_it! {
    quiche_is_read_as_tshark_reads_it: "quiche.pcapng", 123;
    quiche_0_24_is_read_as_tshark_reads_it: "quiche-0.24.pcapng", 122;
    ngtcp2_is_read_as_tshark_reads_it: "ngtcp2.pcapng", 86;
    quic_go_is_read_as_tshark_reads_it: "quic-go.pcapng", 95;
    lsquic_with_its_loss_bits_is_read_as_tshark_reads_it: "lsquic.pcapng", 93;
    a_second_ngtcp2_is_read_as_tshark_reads_it: "ngtcp2-qlog.pcapng", 53;
    a_second_quic_go_is_read_as_tshark_reads_it: "quic-go-qlog.pcapng", 57;
    ipv6_is_read_as_tshark_reads_it: "ipv6.pcapng", 52;
    a_retry_is_read_as_tshark_reads_it: "retry.pcapng", 53;
    chacha20_is_read_as_tshark_reads_it: "chacha20.pcapng", 50;
    aes_256_is_read_as_tshark_reads_it: "aes256.pcapng", 53;
    a_key_update_is_read_as_tshark_reads_it: "key-update.pcapng", 53;
    version_2_is_read_as_tshark_reads_it: "version-2.pcapng", 51;
    version_negotiation_is_read_as_tshark_reads_it: "version-negotiation.pcapng", 54;
    zero_rtt_is_read_as_tshark_reads_it: "zero-rtt.pcapng", 101;
    a_migration_is_read_as_tshark_reads_it: "migration.pcapng", 79;
}

fn dissector_of(name: &str) -> Dissector {
    ours(&capture(name)).1
}

#[test]
fn cipher_suites_are_those_asked_for() {
    for (name, suite) in [
        ("aes256.pcapng", CipherSuite::Aes256Gcm),
        ("chacha20.pcapng", CipherSuite::ChaCha20Poly1305),
        ("ipv6.pcapng", CipherSuite::Aes128Gcm),
    ] {
        assert_eq!(dissector_of(name).flows()[0].cipher_suite(), Some(suite), "{name}");
    }
}

#[test]
fn versions_are_those_negotiated() {
    for (name, version) in [("version-2.pcapng", VERSION_2), ("version-negotiation.pcapng", VERSION_1)] {
        let dissector = dissector_of(name);
        // ngtcp2's client begins again from another port.
        assert_eq!(dissector.flows().last().unwrap().quic_version(), Some(version), "{name}");
    }
}

#[test]
fn a_key_update_is_seen_of_both_ends() {
    // RFC 9001 section 6.
    let dissector = dissector_of("key-update.pcapng");
    let flow = &dissector.flows()[0];
    assert_eq!(Role::BOTH.map(|sender| flow.key_updates(sender)), [1, 1]);
}

#[test]
fn a_connection_that_moves_stays_one_flow() {
    let dissector = dissector_of("migration.pcapng");
    assert_eq!(dissector.flows().len(), 1);
    assert_eq!(dissector.flows()[0].migrations(), 1);
}

#[test]
fn a_resumed_session_shows_its_key_and_no_certificate() {
    let dissector = dissector_of("zero-rtt.pcapng");
    let [first, second] = [0, 1].map(|flow| dissector.flows()[flow].tls_handshake().unwrap());
    let facts = |tls: &TlsHandshake| {
        let offer = tls.offer.as_ref().unwrap();
        let choice = tls.choice.unwrap();
        (offer.pre_shared_key, offer.early_data, choice.pre_shared_key, tls.accepts_early_data)
    };
    assert_eq!(facts(first), (false, false, false, Some(false)));
    assert_eq!(facts(second), (true, true, true, Some(true)));
    assert!(first.certificate_bytes.is_some_and(|bytes| bytes > 100), "{first:?}");
    assert_eq!(second.certificate_bytes, None);
}

#[test]
fn cipher_suites_offered_are_those_asked_for() {
    let offered = |name| dissector_of(name).flows()[0].tls_handshake().unwrap().offer.clone().unwrap().cipher_suites;
    assert_eq!(offered("chacha20.pcapng"), [0x1303]);
    assert!(offered("ipv6.pcapng").len() > 1);
}

#[test]
fn the_token_of_a_retry_comes_back_in_an_initial() {
    // RFC 9000 section 8.1.2.
    let mut reader = CaptureReader::new(std::fs::File::open(capture("retry.pcapng")).unwrap()).unwrap();
    let mut dissector = Dissector::new(DissectorSettings::default());
    let (mut retries, mut initials) = (Vec::new(), Vec::new());
    while let Some(frame) = reader.next_frame().unwrap() {
        let segment = frame.segment().unwrap();
        let observed = dissector.on_segment(&segment).unwrap();
        for packet in observed.packets {
            let token = segment.payload[packet.token.clone()].to_vec();
            match (packet.form, observed.sender) {
                (QuicForm::Retry, _) => retries.push(token),
                (QuicForm::Initial, Role::Client) => initials.push(token),
                _ => assert!(token.is_empty()),
            }
        }
    }
    assert_eq!(retries.len(), 1);
    assert!(retries[0].len() > 16 && initials[0].is_empty());
    assert!(initials[1..].iter().all(|token| *token == retries[0]));
}

#[test]
fn two_connections_in_a_row_are_two_flows() {
    assert_eq!(dissector_of("zero-rtt.pcapng").flows().len(), 2);
}

/// Raw sequence number, raw acknowledgment number and payload length of each segment, by tshark.
fn their_segments(path: &Path) -> Option<Vec<(u32, u32, u32)>> {
    if !has_program("tshark", "tshark") {
        return None;
    }
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(path).args(["-Y", "tcp", "-T", "fields"]);
    for field in ["tcp.seq_raw", "tcp.ack_raw", "tcp.len"] {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let number = |column: Option<&str>| column.unwrap().parse().unwrap();
    Some(
        text.lines()
            .map(|line| {
                let mut columns = line.split('\t');
                (number(columns.next()), number(columns.next()), number(columns.next()))
            })
            .collect(),
    )
}

#[test]
fn tcp_is_read_as_tshark_reads_it() {
    let path = capture("tcp-tls.pcapng");
    let mut reader = CaptureReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let mut ours = Vec::new();
    while let Some(packet) = reader.next_packet().unwrap() {
        let segment = packet.tcp().unwrap();
        ours.push((segment.sequence_number, segment.acknowledgment_number, packet.payload_length));
    }
    assert!(ours.len() > 50);
    let Some(theirs) = their_segments(&path) else { return };
    assert_eq!(ours, theirs);
}
