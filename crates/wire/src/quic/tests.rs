use quiclab_units::Time;

use super::*;
use crate::{Dissector, Segment, Transport};

const CONNECTION_ID: [u8; 8] = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];

/// A long header packet whose Length covers `protected_bytes`.
fn long(first_byte: u8, version: u32, connection_id: &[u8], protected_bytes: u16) -> Vec<u8> {
    let mut packet = vec![first_byte];
    packet.extend(version.to_be_bytes());
    packet.push(connection_id.len() as u8);
    packet.extend(connection_id);
    packet.extend([2, 0xaa, 0xbb]);
    let is_initial = matches!((version, first_byte & 0x30), (VERSION_1, 0x00) | (VERSION_2, 0x10));
    if is_initial {
        packet.extend([3, 1, 2, 3]);
    }
    packet.extend((0x4000 | protected_bytes).to_be_bytes());
    packet.resize(packet.len() + usize::from(protected_bytes), 0xcc);
    packet
}

fn short(connection_id: &[u8], protected_bytes: usize) -> Vec<u8> {
    let mut packet = vec![0x4f];
    packet.extend(connection_id);
    packet.resize(packet.len() + protected_bytes, 0xdd);
    packet
}

/// What a dissector that has seen nothing else makes of a datagram.
struct Walked {
    forms: Vec<QuicForm>,
    has_foreign_bytes: bool,
    is_complete: bool,
    has_one_rtt: Option<bool>,
}

fn walk(captured: &[u8], payload_length: usize) -> Walked {
    let segment = Segment {
        time: Time::from_nanos(0),
        interface: 0,
        frame_length: payload_length as u32 + 42,
        captured_length: captured.len() as u32 + 42,
        source: "10.0.0.1:50000".parse().unwrap(),
        destination: "10.0.0.2:443".parse().unwrap(),
        payload_length: payload_length as u32,
        payload: captured,
        ecn: 0,
        transport: Transport::Udp,
    };
    let mut dissector = Dissector::default();
    let observed = dissector.on_segment(&segment).unwrap();
    Walked {
        forms: observed.packets.iter().map(|packet| packet.form).collect(),
        has_foreign_bytes: observed.has_foreign_bytes,
        is_complete: observed.is_complete,
        has_one_rtt: observed.has_one_rtt(),
    }
}

/// The packets of a datagram that holds nothing else.
fn forms_of_whole(datagram: &[u8]) -> Vec<QuicForm> {
    let walked = walk(datagram, datagram.len());
    assert!(!walked.has_foreign_bytes && walked.is_complete);
    walked.forms
}

/// Forms of the packets in front of bytes that are no packet.
fn forms_before_other_bytes(datagram: &[u8]) -> Vec<QuicForm> {
    let walked = walk(datagram, datagram.len());
    assert!(walked.has_foreign_bytes && walked.is_complete);
    walked.forms
}

#[test]
fn the_client_initial_of_rfc_9001_appendix_a_2_is_one_initial() {
    // The unprotected header printed there; 0x449e is a Length of 1182 bytes, which fills 1200.
    let mut datagram = vec![0xc3, 0, 0, 0, 1, 8];
    datagram.extend(CONNECTION_ID);
    datagram.extend([0, 0, 0x44, 0x9e]);
    datagram.resize(1200, 0x7b);
    assert_eq!(forms_of_whole(&datagram), [QuicForm::Initial]);
}

#[test]
fn the_retry_of_rfc_9001_appendix_a_4_is_a_retry() {
    let datagram =
        [0xff, 0, 0, 0, 1, 0, 8, 0xf0, 0x67, 0xa5, 0x50, 0x2a, 0x42, 0x62, 0xb5, b't', b'o', b'k', b'e', b'n'];
    assert_eq!(forms_of_whole(&datagram), [QuicForm::Retry]);
}

#[test]
fn coalesced_packets_are_found_to_the_last() {
    // RFC 9000 section 12.2.
    let mut datagram = long(0xc0, VERSION_1, &CONNECTION_ID, 100);
    datagram.extend(long(0xe0, VERSION_1, &CONNECTION_ID, 200));
    datagram.extend(short(&CONNECTION_ID, 40));
    assert_eq!(forms_of_whole(&datagram), [QuicForm::Initial, QuicForm::Handshake, QuicForm::OneRtt]);
    assert_eq!(walk(&datagram, datagram.len()).has_one_rtt, Some(true));
}

#[test]
fn version_2_numbers_its_types_differently() {
    // RFC 9369 section 3.2.
    let type_bits = [(0x10, QuicForm::Initial), (0x20, QuicForm::ZeroRtt), (0x30, QuicForm::Handshake)];
    for (bits, form) in type_bits {
        let datagram = long(0xc0 | bits, VERSION_2, &CONNECTION_ID, 50);
        assert_eq!(forms_of_whole(&datagram), [form]);
    }
    let retry = long(0xc0, VERSION_2, &CONNECTION_ID, 50);
    assert_eq!(forms_of_whole(&retry), [QuicForm::Retry]);
}

#[test]
fn a_cut_datagram_does_not_claim_to_know_its_last_packet() {
    let mut datagram = long(0xc0, VERSION_1, &CONNECTION_ID, 100);
    let initial_bytes = datagram.len();
    datagram.extend(short(&CONNECTION_ID, 40));
    for captured_bytes in 1..datagram.len() {
        let walked = walk(&datagram[..captured_bytes], datagram.len());
        // The first byte and the connection ID behind it must be there.
        let expected = (captured_bytes > initial_bytes + CONNECTION_ID.len()).then_some(true);
        assert_eq!(walked.has_one_rtt, expected, "{captured_bytes} bytes captured");
    }
}

#[test]
fn a_short_header_alone_needs_one_captured_byte() {
    assert_eq!(walk(&[0x40], 1350).has_one_rtt, Some(true));
    assert_eq!(walk(&[], 1350).has_one_rtt, None);
}

#[test]
fn padding_behind_a_packet_is_not_one_rtt() {
    let mut zeros = long(0xc0, VERSION_1, &CONNECTION_ID, 100);
    zeros.resize(1200, 0);
    assert_eq!(forms_before_other_bytes(&zeros), [QuicForm::Initial]);
    let mut noise = long(0xc0, VERSION_1, &CONNECTION_ID, 100);
    noise.resize(1200, 0x5a);
    assert_eq!(forms_before_other_bytes(&noise), [QuicForm::Initial]);
}

#[test]
fn packets_of_another_connection_are_not_coalesced() {
    // RFC 9000 section 12.2: all packets of a datagram have the same destination connection ID.
    let mut datagram = long(0xc0, VERSION_1, &CONNECTION_ID, 100);
    datagram.extend(long(0xe0, VERSION_1, &[1; 8], 100));
    assert_eq!(forms_before_other_bytes(&datagram), [QuicForm::Initial]);
}

#[test]
fn version_negotiation_and_unknown_versions_are_named() {
    // RFC 9000 section 17.2.1.
    let negotiation = [0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    assert_eq!(forms_of_whole(&negotiation), [QuicForm::VersionNegotiation]);
    let unknown = long(0xc0, 0x1a2a_3a4a, &CONNECTION_ID, 9);
    assert_eq!(forms_of_whole(&unknown), [QuicForm::UnknownVersion]);
}

#[test]
fn a_length_beyond_the_datagram_is_not_believed() {
    let mut datagram = long(0xe0, VERSION_1, &CONNECTION_ID, 100);
    datagram.truncate(datagram.len() - 1);
    let walked = walk(&datagram, datagram.len());
    assert_eq!(walked.forms, []);
    assert!(walked.has_foreign_bytes && !walked.is_complete);
    assert_eq!(walked.has_one_rtt, None);
}

#[test]
fn a_connection_id_of_20_bytes_passes_and_one_of_21_does_not() {
    let longest = long(0xe0, VERSION_1, &[7; 20], 30);
    assert_eq!(forms_of_whole(&longest), [QuicForm::Handshake]);
    let too_long = long(0xe0, VERSION_1, &[7; 21], 30);
    assert_eq!(forms_before_other_bytes(&too_long), []);
}

/// RFC 9287: endpoints that agreed to it send any value in the fixed bit. Nothing in a datagram then tells a short header
/// from something else; that the port is right must come from elsewhere.
#[test]
fn a_greased_fixed_bit_does_not_hide_a_packet() {
    assert_eq!(forms_of_whole(&[0x12, 0x34, 0x01, 0, 0, 1]), [QuicForm::OneRtt]);
    let greased = long(0x80, VERSION_1, &CONNECTION_ID, 100);
    assert_eq!(forms_of_whole(&greased), [QuicForm::Initial]);
}
