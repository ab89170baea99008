//! Packets that no capture at hand holds, protected as `fuzz_corpus/seal.rs` does it.

#[path = "fuzz_corpus/targets.rs"]
mod targets;

use quiclab_units::Time;
use quiclab_wire::{Decryption, Dissector, DissectorSettings, QuicPacket, Role, Segment, Transport, VERSION_1};
use targets::datagrams::KEY_LOG;
use targets::seal::{Form, Plain, seal};

/// From client to server.
fn dissect(dissector: &mut Dissector, payload: &[u8]) -> Vec<QuicPacket> {
    let length = payload.len() as u32;
    let segment = Segment {
        time: Time::default(),
        interface: 0,
        frame_length: length,
        captured_length: length,
        source: "10.0.0.2:50000".parse().unwrap(),
        destination: "10.0.0.1:4433".parse().unwrap(),
        payload_length: length,
        payload,
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
        let packets = dissect(&mut dissector, &seal(Form::OneRtt, VERSION_1, Role::Client, &plain));
        assert_eq!(packets[0].decryption, Decryption::Verified, "ID {id}");
        assert_eq!(packets[0].packet_number, Some(1_000));
    }
}
