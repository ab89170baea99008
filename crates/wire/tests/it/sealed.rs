//! Packets that no capture at hand holds, protected as `fuzz_corpus/seal.rs` does it.

use crate::fuzz_corpus::targets;

use quiclab_units::Time;
use quiclab_wire::{
    Decryption, Dissector, DissectorSettings, QuicForm, QuicPacket, Role, Segment, Transport, VERSION_1,
};
use targets::datagrams::KEY_LOG;
use targets::seal::{Form, LABELS, LATER_ID, Plain, SESSION, SUITES, Session, seal, seal_of};

const SERVER: &str = "10.0.0.1:4433";

fn dissect(dissector: &mut Dissector, sender: Role, payload: &[u8], length: usize) -> Vec<QuicPacket> {
    dissect_at(dissector, SERVER, sender, payload, length)
}

fn dissect_at(dissector: &mut Dissector, server: &str, sender: Role, payload: &[u8], length: usize) -> Vec<QuicPacket> {
    flow_and_packets(dissector, server, sender, payload, length).1
}

fn flow_and_packets(
    dissector: &mut Dissector,
    server: &str,
    sender: Role,
    payload: &[u8],
    length: usize,
) -> (usize, Vec<QuicPacket>) {
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
    let observed = dissector.on_segment(&segment).unwrap();
    (observed.flow, observed.packets.to_vec())
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

/// Feeds a ClientHello and a ServerHello with the first suite.
fn feed_hellos(dissector: &mut Dissector) {
    let (suite, random) = SUITES[0];
    let client_hello = [&[3, 3][..], &random[..], &[0, 0, 2], &suite.to_be_bytes(), &[1, 0, 0, 0]].concat();
    let server_hello = [&[3, 3], &[8; 32][..], &[0], &suite.to_be_bytes(), &[0, 0, 0]].concat();
    feed(dissector, Form::Initial, Role::Client, &crypto(1, &client_hello));
    feed(dissector, Form::Initial, Role::Server, &crypto(2, &server_hello));
}

/// Feeds a packet that must be opened.
fn feed(dissector: &mut Dissector, form: Form, sender: Role, frames: &[u8]) {
    let packet = sealed(form, sender, 1, 0, frames);
    assert_eq!(dissect(dissector, sender, &packet, packet.len())[0].decryption, Decryption::Verified);
}

/// Feeds a handshake whose EncryptedExtensions have this parameter; the ID in it is [`LATER_ID`].
fn handshake_with_parameter(dissector: &mut Dissector, sender: Role, number: u8) {
    dissector.add_keys(KEY_LOG);
    feed_hellos(dissector);
    let value = [&[0x20; 24][..], &[LATER_ID.len() as u8], LATER_ID, &[7; 16]].concat();
    feed(dissector, Form::Handshake, sender, &crypto(8, &encrypted_extensions(number, &value)));
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
    // RFC 9000 section 9.6.
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
    // RFC 9000 sections 10.3.1 and 18.2.
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

/// A Version Negotiation packet, or a 1-RTT packet to a connection ID of zeros of which a bit of the first byte was flipped.
const VERSION_NEGOTIATION: &[u8] = &[0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

#[test]
fn a_damaged_packet_that_looks_like_version_negotiation_does_not_swap_client_and_server() {
    let mut dissector = after_a_handshake();
    let looks_like_it = dissect(&mut dissector, Role::Client, VERSION_NEGOTIATION, VERSION_NEGOTIATION.len());
    assert_eq!(looks_like_it[0].form, QuicForm::VersionNegotiation);
    assert_eq!(dissector.flows().len(), 1);
    assert_eq!(dissector.flows()[0].address(Role::Server), SERVER.parse().unwrap());
    let answer = sealed(Form::OneRtt, Role::Server, 1, 1, &[0x01; 20]);
    assert_eq!(dissect(&mut dissector, Role::Server, &answer, answer.len())[0].decryption, Decryption::Verified);
}

#[test]
fn version_negotiation_shows_the_server_where_nothing_else_has() {
    let mut dissector = Dissector::new(DissectorSettings::default());
    // Whose ports make the other end the server.
    const SERVER: &str = "10.0.0.1:60000";
    dissect_at(&mut dissector, SERVER, Role::Client, &[0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 0, 0, 1], 8);
    assert_ne!(dissector.flows()[0].address(Role::Server), SERVER.parse().unwrap());
    dissect_at(&mut dissector, SERVER, Role::Server, VERSION_NEGOTIATION, VERSION_NEGOTIATION.len());
    assert_eq!(dissector.flows().len(), 1);
    assert_eq!(dissector.flows()[0].address(Role::Server), SERVER.parse().unwrap());
    assert!(dissector.flows()[0].roles_are_known());
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
    // RFC 9000 section 12.3.
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

/// Session of a second connection between the same addresses.
const SECOND: Session = Session { client_id: b"client 2", server_id: b"server 2", ..SESSION };
/// Bits in the flags of [`Plain`]: the client's first Initial of [`SECOND`] is for another ID than that of the first connection.
const TO_LONGEST_ID: u8 = 12;
/// Offset of the destination connection ID in a packet with a long header, behind first byte, version and length.
const DESTINATION_OFFSET: usize = 6;

fn sealed_of_second(form: Form, sender: Role, flags: u8, packet_number: u32) -> Vec<u8> {
    seal_of(&SECOND, form, VERSION_1, sender, &Plain { flags, packet_number, frames: &[0x01; 30] })
}

/// Which flow a whole packet belongs to, and how far it was opened.
fn flow_and_decryption(dissector: &mut Dissector, sender: Role, packet: &[u8]) -> (usize, Decryption) {
    let (flow, packets) = flow_and_packets(dissector, SERVER, sender, packet, packet.len());
    (flow, packets[0].decryption)
}

#[test]
fn a_packet_with_a_damaged_destination_does_not_take_the_ids_of_its_connection_along() {
    for server_has_answered in [false, true] {
        let mut dissector = after_a_handshake();
        let first = sealed_of_second(Form::Initial, Role::Client, 1 | TO_LONGEST_ID, 0);
        assert_eq!(flow_and_decryption(&mut dissector, Role::Client, &first), (1, Decryption::Verified));
        if server_has_answered {
            let answer = sealed_of_second(Form::Initial, Role::Server, 1 | TO_LONGEST_ID, 0);
            assert_eq!(flow_and_decryption(&mut dissector, Role::Server, &answer), (1, Decryption::Verified));
        }
        // Nobody knows whose it was, nor has keys that could tell.
        let mut damaged = sealed(Form::Handshake, Role::Client, 1, 0, &[0x01; 30]);
        damaged[DESTINATION_OFFSET] ^= 1;
        assert_eq!(flow_and_decryption(&mut dissector, Role::Client, &damaged), (1, Decryption::NoKeys));
        let late = sealed(Form::OneRtt, Role::Server, 1, 0, &[0x01; 30]);
        assert_eq!(flow_and_decryption(&mut dissector, Role::Server, &late), (0, Decryption::Verified));
    }
}

/// It may come with a connection ID that was not seen, as here, and from a peer whose packets have none.
#[test]
fn a_late_packet_of_one_connection_does_not_give_its_keys_to_the_next() {
    const TO_LATER_ID: u8 = 4;
    let mut dissector = after_a_handshake();
    let first = sealed_of_second(Form::Initial, Role::Client, 1 | TO_LONGEST_ID, 0);
    assert_eq!(flow_and_decryption(&mut dissector, Role::Client, &first), (1, Decryption::Verified));
    let late = sealed(Form::OneRtt, Role::Client, 1 | TO_LATER_ID, 0, &[0x01; 30]);
    assert_eq!(flow_and_decryption(&mut dissector, Role::Client, &late), (1, Decryption::Failed));
    assert_eq!(dissector.flows()[1].client_random(), None);
}

#[test]
fn an_id_in_a_damaged_packet_is_not_learned() {
    let mut dissector = after_a_handshake();
    let intact = sealed_of_second(Form::Initial, Role::Client, 1 | TO_LONGEST_ID, 0);
    let mut damaged = intact.clone();
    let last_of_source = DESTINATION_OFFSET + 20 + SECOND.client_id.len();
    damaged[last_of_source] ^= 1;
    assert_eq!(flow_and_decryption(&mut dissector, Role::Client, &damaged), (0, Decryption::Failed));
    assert_eq!(flow_and_decryption(&mut dissector, Role::Client, &intact), (1, Decryption::Verified));
    // The server read the damaged one, and answers to the ID that it saw.
    let as_server_saw_it = Session { client_id: b"client 3", ..SECOND };
    assert_eq!(damaged[..=last_of_source].last_chunk(), Some(b"client 3"));
    let plain = Plain { flags: 1 | TO_LONGEST_ID, packet_number: 0, frames: &[0x01; 30] };
    let answer = seal_of(&as_server_saw_it, Form::Initial, VERSION_1, Role::Server, &plain);
    assert_eq!(flow_and_decryption(&mut dissector, Role::Server, &answer), (1, Decryption::Verified));
}

/// Whole, and cut by the capture.
#[test]
fn ids_in_headers_that_nobody_can_verify_are_learned() {
    for kept in [KEPT, usize::MAX] {
        let mut dissector = Dissector::new(DissectorSettings::default());
        for sender in [Role::Server, Role::Client] {
            let packet = sealed(Form::Handshake, sender, 1, 0, &[0x01; 100]);
            let packets = dissect(&mut dissector, sender, &packet[..packet.len().min(kept)], packet.len());
            assert_eq!(packets[0].decryption, Decryption::NoKeys);
        }
        for sender in Role::BOTH {
            let packet = sealed(Form::OneRtt, sender, 1, 0, &[0x01; 100]);
            dissect_at(&mut dissector, "10.0.0.1:4444", sender, &packet, packet.len());
        }
        assert_eq!(dissector.flows().len(), 1);
        assert_eq!(dissector.flows()[0].migrations(), 1);
    }
}

/// A server that forgot a connection begins it again with the same ClientHello: the key log has secrets of both TLS sessions.
const AGAIN: Session = Session { secrets: 0xb0, ..SESSION };

/// Lines of the first suite's connection.
fn key_log_of(session: &Session) -> String {
    let hexadecimal = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let random = hexadecimal(&SUITES[0].1);
    let line = |(label, name)| format!("{name} {random} {}\n", hexadecimal(&session.secret_of(label, 0)));
    LABELS.into_iter().map(line).collect()
}

/// Both hellos; then each packet is expected to be opened as it says.
fn assert_sessions_are_opened(key_log: &str, packets: &[(&Session, Form, Role, Decryption)]) {
    let mut dissector = Dissector::new(DissectorSettings::default());
    feed_hellos(&mut dissector);
    dissector.add_keys(key_log.as_bytes());
    for (number, (session, form, sender, decryption)) in packets.iter().enumerate() {
        let plain = Plain { flags: 1, packet_number: number as u32, frames: &[0x01; 30] };
        let packet = seal_of(session, *form, VERSION_1, *sender, &plain);
        let (_, opened) = flow_and_decryption(&mut dissector, *sender, &packet);
        assert_eq!(opened, *decryption, "packet {number} with this key log:\n{key_log}");
    }
}

const PROTECTED: [(Form, Role); 4] = [
    (Form::Handshake, Role::Server),
    (Form::Handshake, Role::Client),
    (Form::OneRtt, Role::Server),
    (Form::OneRtt, Role::Client),
];

#[test]
fn of_several_secrets_in_the_key_log_the_one_that_opens_a_packet_is_used() {
    let [first, again] = [&SESSION, &AGAIN].map(key_log_of);
    for key_log in [format!("{first}{again}"), format!("{again}{first}")] {
        for session in [&SESSION, &AGAIN] {
            let packets = PROTECTED.map(|(form, sender)| (session, form, sender, Decryption::Verified));
            assert_sessions_are_opened(&key_log, &packets);
        }
        let unknown = Session { secrets: 0xc0, ..SESSION };
        let packets = PROTECTED.map(|(form, sender)| (&unknown, form, sender, Decryption::Failed));
        assert_sessions_are_opened(&key_log, &packets);
    }
}

#[test]
fn packets_of_both_sessions_with_one_client_random_are_opened() {
    let key_log = [&SESSION, &AGAIN].map(key_log_of).concat();
    let packets = PROTECTED.map(|(form, sender)| {
        [&SESSION, &AGAIN, &SESSION].map(|session| (session, form, sender, Decryption::Verified))
    });
    assert_sessions_are_opened(&key_log, packets.as_flattened());
}

#[test]
fn a_cut_packet_has_no_number_before_a_whole_one_shows_which_secret_is_its_own() {
    let mut dissector = Dissector::new(DissectorSettings::default());
    feed_hellos(&mut dissector);
    dissector.add_keys([&SESSION, &AGAIN].map(key_log_of).concat().as_bytes());
    for form in [Form::Handshake, Form::OneRtt] {
        assert_eq!(number_of_cut(&mut dissector, form, Role::Server, 1, 0), None);
        let whole = sealed(form, Role::Server, 1, 1, &[0x01; 30]);
        assert_eq!(dissect(&mut dissector, Role::Server, &whole, whole.len())[0].packet_number, Some(1));
        assert_eq!(number_of_cut(&mut dissector, form, Role::Server, 1, 2), Some(2));
    }
}
