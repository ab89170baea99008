//! Packets that no capture at hand holds, protected as `fuzz_corpus/seal.rs` does it.

#[path = "fuzz_corpus/targets.rs"]
mod targets;

use quiclab_units::Time;
use quiclab_wire::{Decryption, Dissector, DissectorSettings, QuicPacket, Role, Segment, Transport, VERSION_1};
use targets::datagrams::KEY_LOG;
use targets::seal::{Form, LATER_ID, Plain, SUITES, seal};

const SERVER: &str = "10.0.0.1:4433";

fn dissect(dissector: &mut Dissector, sender: Role, payload: &[u8], length: usize) -> Vec<QuicPacket> {
    dissect_at(dissector, SERVER, sender, payload, length)
}

fn dissect_at(dissector: &mut Dissector, server: &str, sender: Role, payload: &[u8], length: usize) -> Vec<QuicPacket> {
    let [server, client] = [server, "10.0.0.2:50000"].map(|address| address.parse().unwrap());
    let (source, destination) = if sender == Role::Server { (server, client) } else { (client, server) };
    let segment = Segment {
        time: Time::default(),
        interface: 0,
        frame_length: length as u32,
        captured_length: payload.len() as u32,
        source,
        destination,
        payload_length: length as u32,
        payload,
        ecn: 0,
        transport: Transport::Udp,
    };
    dissector.on_segment(&segment).unwrap().packets.to_vec()
}

#[test]
fn a_connection_seen_from_its_middle_on_is_opened_whatever_the_length_of_its_ids() {
    // 7, 8, 0 and 20 bytes.
    for id in 0..4_u8 {
        let mut dissector = Dissector::new(DissectorSettings::default());
        dissector.add_keys(KEY_LOG);
        let plain = Plain { flags: 1 | id << 2, packet_number: 1_000, frames: &[0x01; 9] };
        let sealed = seal(Form::OneRtt, VERSION_1, Role::Client, &plain);
        let packets = dissect(&mut dissector, Role::Client, &sealed, sealed.len());
        assert_eq!(packets[0].decryption, Decryption::Verified, "ID {id}");
        assert_eq!(packets[0].packet_number, Some(1_000));
    }
}

/// Version 1, no destination connection ID, a source connection ID of 8 bytes, no token, 1160 bytes of protected packet.
const HEADER_TO_A_CLIENT_WITHOUT_ID: &[u8] = b"\xc0\x00\x00\x00\x01\x00\x08server..\x00\x44\x88";

#[test]
fn a_cut_initial_to_a_client_without_an_id_belongs_to_the_connection_of_its_addresses() {
    let mut dissector = Dissector::new(DissectorSettings::default());
    let first =
        seal(Form::Initial, VERSION_1, Role::Client, &Plain { flags: 1, packet_number: 0, frames: &[0; 1_100] });
    assert_eq!(dissect(&mut dissector, Role::Client, &first, first.len())[0].decryption, Decryption::Verified);
    let mut answer = [0x5a; 86];
    answer[..HEADER_TO_A_CLIENT_WITHOUT_ID.len()].copy_from_slice(HEADER_TO_A_CLIENT_WITHOUT_ID);
    dissect(&mut dissector, Role::Server, &answer, 1_180);
    assert_eq!(dissector.flows().len(), 1);
}

/// A TLS message in a CRYPTO frame.
fn crypto(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (4 + body.len() as u16) | 0x4000;
    [&[0x06, 0][..], &length.to_be_bytes(), &[kind, 0, 0, body.len() as u8], body].concat()
}

/// EncryptedExtensions with one transport parameter.
fn encrypted_extensions(number: u8, value: &[u8]) -> Vec<u8> {
    let parameter = [&[number, value.len() as u8][..], value].concat();
    let extension = [&[0, 0x39, 0, parameter.len() as u8][..], &parameter[..]].concat();
    [&[0, extension.len() as u8][..], &extension[..]].concat()
}

/// Feeds a handshake whose EncryptedExtensions have this parameter; the ID in it is [`LATER_ID`].
fn handshake_with_parameter(dissector: &mut Dissector, sender: Role, number: u8) {
    dissector.add_keys(KEY_LOG);
    let (suite, random) = SUITES[0];
    let client_hello = [&[3, 3][..], &random[..], &[0, 0, 2], &suite.to_be_bytes(), &[1, 0, 0, 0]].concat();
    let server_hello = [&[3, 3], &[8; 32][..], &[0], &suite.to_be_bytes(), &[0, 0, 0]].concat();
    let value = [&[0x20; 24][..], &[LATER_ID.len() as u8], LATER_ID, &[7; 16]].concat();
    let extensions = encrypted_extensions(number, &value);
    for (form, from, frames) in [
        (Form::Initial, Role::Client, crypto(1, &client_hello)),
        (Form::Initial, Role::Server, crypto(2, &server_hello)),
        (Form::Handshake, sender, crypto(8, &extensions)),
    ] {
        let sealed = seal(form, VERSION_1, from, &Plain { flags: 1, packet_number: 0, frames: &frames });
        assert_eq!(dissect(dissector, from, &sealed, sealed.len())[0].decryption, Decryption::Verified);
    }
}

/// Sends a 1-RTT packet to [`LATER_ID`] at another address of the server. Whether it belongs to the connection.
fn is_followed_to_another_address(dissector: &mut Dissector) -> bool {
    const TO_LATER_ID: u8 = 4;
    let plain = Plain { flags: 1 | TO_LATER_ID, packet_number: 0, frames: &[0x1a, 1, 2, 3, 4, 5, 6, 7, 8] };
    let sealed = seal(Form::OneRtt, VERSION_1, Role::Client, &plain);
    dissect_at(dissector, "10.0.0.1:4444", Role::Client, &sealed, sealed.len());
    dissector.flows().len() == 1 && dissector.flows()[0].migrations() == 1
}

#[test]
fn a_client_is_followed_to_the_servers_preferred_address() {
    const PREFERRED_ADDRESS: u8 = 0x0d;
    // original_destination_connection_id, which is not read, has the same value.
    for (sender, number, is_followed) in
        [(Role::Server, PREFERRED_ADDRESS, true), (Role::Server, 0x00, false), (Role::Client, PREFERRED_ADDRESS, false)]
    {
        let mut dissector = Dissector::new(DissectorSettings::default());
        handshake_with_parameter(&mut dissector, sender, number);
        assert_eq!(is_followed_to_another_address(&mut dissector), is_followed, "{sender:?}, parameter {number:#x}");
    }
}

#[test]
fn the_reset_token_of_a_preferred_address_shows_a_stateless_reset() {
    let mut dissector = Dissector::new(DissectorSettings::default());
    handshake_with_parameter(&mut dissector, Role::Server, 0x0d);
    let mut reset = [0x5a; 40];
    reset[24..].copy_from_slice(&[7; 16]);
    assert!(dissect(&mut dissector, Role::Server, &reset, reset.len())[0].is_stateless_reset);
    reset[39] ^= 1;
    assert!(!dissect(&mut dissector, Role::Server, &reset, reset.len())[0].is_stateless_reset);
}

/// A capture keeps so much of each packet: enough for the packet number, not for the tag.
const KEPT: usize = 60;

fn sealed(form: Form, sender: Role, flags: u8, packet_number: u32, frames: &[u8]) -> Vec<u8> {
    seal(form, VERSION_1, sender, &Plain { flags, packet_number, frames })
}

/// The packet number of a packet of which the capture kept [`KEPT`] bytes only.
fn number_of_cut(dissector: &mut Dissector, form: Form, sender: Role, flags: u8, packet_number: u32) -> Option<u64> {
    let packet = sealed(form, sender, flags, packet_number, &[0x01; 100]);
    let packets = dissect(dissector, sender, &packet[..KEPT], packet.len());
    assert_eq!(packets[0].decryption, Decryption::HeaderOnly);
    packets[0].packet_number
}

/// An ACK frame of one packet, below 16384.
fn ack(number: u16) -> [u8; 6] {
    let [high, low] = (number | 0x4000).to_be_bytes();
    [0x02, high, low, 0, 0, 0]
}

fn after_a_handshake() -> Dissector {
    let mut dissector = Dissector::new(DissectorSettings::default());
    handshake_with_parameter(&mut dissector, Role::Server, 0);
    dissector
}

/// Numbers of one byte, as a sender may choose them that has an ACK which the capture lacks.
#[test]
fn the_number_of_a_cut_packet_is_unknown_until_its_peer_acknowledges_one() {
    let mut dissector = after_a_handshake();
    assert_eq!(number_of_cut(&mut dissector, Form::OneRtt, Role::Server, 0, 5_000), None);
    assert_eq!(number_of_cut(&mut dissector, Form::OneRtt, Role::Server, 0, 5_001), None);
    let acknowledgment = sealed(Form::OneRtt, Role::Client, 1, 3, &ack(5_000));
    assert_eq!(
        dissect(&mut dissector, Role::Client, &acknowledgment, acknowledgment.len())[0].decryption,
        Decryption::Verified
    );
    assert_eq!(number_of_cut(&mut dissector, Form::OneRtt, Role::Server, 0, 5_002), Some(5_002));
    // What the client has sent itself is certain too, since that packet was decrypted.
    assert_eq!(number_of_cut(&mut dissector, Form::OneRtt, Role::Client, 0, 4), Some(4));
}

#[test]
fn a_cut_acknowledgment_says_nothing() {
    let mut dissector = after_a_handshake();
    let acknowledgment = sealed(Form::OneRtt, Role::Client, 1, 3, &ack(5_000));
    dissect(&mut dissector, Role::Client, &acknowledgment[..acknowledgment.len() - 1], acknowledgment.len());
    assert_eq!(number_of_cut(&mut dissector, Form::OneRtt, Role::Server, 0, 5_002), None);
    assert_eq!(number_of_cut(&mut dissector, Form::OneRtt, Role::Client, 0, 4), None);
}

#[test]
fn an_acknowledgment_speaks_of_its_own_packet_number_space() {
    let mut dissector = after_a_handshake();
    let acknowledgment = sealed(Form::Handshake, Role::Client, 1, 0, &ack(5_000));
    dissect(&mut dissector, Role::Client, &acknowledgment, acknowledgment.len());
    assert_eq!(number_of_cut(&mut dissector, Form::OneRtt, Role::Server, 0, 5_002), None);
    assert_eq!(number_of_cut(&mut dissector, Form::Handshake, Role::Server, 0, 5_002), Some(5_002));
}

#[test]
fn a_packet_that_is_decrypted_makes_the_next_ones_known() {
    let mut dissector = after_a_handshake();
    assert_eq!(number_of_cut(&mut dissector, Form::OneRtt, Role::Server, 1, 70_000), None);
    // With all of its bytes, as before the first acknowledgment (RFC 9000 section 17.1).
    let whole = sealed(Form::OneRtt, Role::Server, 3, 70_001, &[0x01; 20]);
    assert_eq!(dissect(&mut dissector, Role::Server, &whole, whole.len())[0].packet_number, Some(70_001));
    assert_eq!(number_of_cut(&mut dissector, Form::OneRtt, Role::Server, 1, 70_002), Some(70_002));
}

/// No ACK is captured, so that the window of the last certain number ends.
#[test]
fn cut_packets_beyond_the_window_have_no_number_and_do_not_hide_a_whole_one() {
    let mut dissector = after_a_handshake();
    let first = sealed(Form::OneRtt, Role::Server, 3, 1_000, &[0x01; 20]);
    assert_eq!(dissect(&mut dissector, Role::Server, &first, first.len())[0].packet_number, Some(1_000));
    for number in 1_001..1_400 {
        let known = number_of_cut(&mut dissector, Form::OneRtt, Role::Server, 0, number);
        assert_eq!(known, (number < 1_130).then_some(u64::from(number)));
    }
    let whole = sealed(Form::OneRtt, Role::Server, 0, 1_400, &[0x01; 20]);
    assert_eq!(dissect(&mut dissector, Role::Server, &whole, whole.len())[0].packet_number, Some(1_400));
}

/// Which keys an Initial packet has follows from a connection ID, and nothing proves the first one but a packet which they decrypt.
#[test]
fn a_cut_initial_packet_has_no_number_before_its_keys_have_decrypted_one() {
    let mut dissector = Dissector::new(DissectorSettings::default());
    assert_eq!(number_of_cut(&mut dissector, Form::Initial, Role::Client, 1, 0), None);
    let answer = sealed(Form::Initial, Role::Server, 1, 0, &[&ack(0)[..], &[0x01; 20]].concat());
    assert_eq!(dissect(&mut dissector, Role::Server, &answer, answer.len())[0].decryption, Decryption::Verified);
    assert_eq!(number_of_cut(&mut dissector, Form::Initial, Role::Client, 1, 1), Some(1));
    assert_eq!(number_of_cut(&mut dissector, Form::Initial, Role::Server, 1, 1), Some(1));
}

/// Version 1, to the client from `another.`, which is the connection ID of the client's next Initial packets. Its tag is not captured.
const RETRY: &[u8] = b"\xf0\x00\x00\x00\x01\x08client..\x08another.token";

#[test]
fn behind_a_retry_the_keys_of_cut_initial_packets_are_to_be_proven_again() {
    const TO_LATER_ID: u8 = 4;
    let mut dissector = Dissector::new(DissectorSettings::default());
    let first = sealed(Form::Initial, Role::Client, 1, 0, &[0x01; 100]);
    assert_eq!(dissect(&mut dissector, Role::Client, &first, first.len())[0].decryption, Decryption::Verified);
    dissect(&mut dissector, Role::Server, RETRY, RETRY.len() + 16);
    assert_eq!(number_of_cut(&mut dissector, Form::Initial, Role::Client, 1 | TO_LATER_ID, 1), None);
    let whole = sealed(Form::Initial, Role::Client, 1 | TO_LATER_ID, 2, &[0x01; 100]);
    assert_eq!(dissect(&mut dissector, Role::Client, &whole, whole.len())[0].packet_number, Some(2));
    assert_eq!(number_of_cut(&mut dissector, Form::Initial, Role::Client, 1 | TO_LATER_ID, 3), Some(3));
}
