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
