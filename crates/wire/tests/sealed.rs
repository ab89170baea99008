//! Packets that no capture at hand holds, protected as `fuzz_corpus/seal.rs` does it.

#[path = "fuzz_corpus/targets.rs"]
mod targets;

use quiclab_units::Time;
use quiclab_wire::{Decryption, Dissector, DissectorSettings, QuicPacket, Role, Segment, Transport, VERSION_1};
use targets::datagrams::KEY_LOG;
use targets::seal::{Form, Plain, seal};

fn dissect(dissector: &mut Dissector, sender: Role, payload: &[u8], length: usize) -> Vec<QuicPacket> {
    let [server, client] = ["10.0.0.1:4433", "10.0.0.2:50000"].map(|address| address.parse().unwrap());
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
