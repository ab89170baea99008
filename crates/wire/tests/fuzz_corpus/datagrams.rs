//! Datagrams of several connections through one [`Dissector`].
//!
//! Mutated ciphertext is refused by its tag, so that nothing behind it would be reached. An input may therefore hold
//! plaintext too, which is protected here with keys that the dissector has or derives.
//!
//! | bytes | |
//! |--:|---|
//! | 1 | settings: 1 without key log, 2 with a server port, 4 one tap; in 8 to 128, whose keys |
//! | then, of each datagram: 1 | 1 from the server; 2 and 4 the path; 8, 16, 32 the kind; 64 cut by the capture; 128 another interface |
//! | 2 | length of what follows, little-endian; the rest of the input where it is less |
//! | | the payload, or a [`Plain`] packet |

use std::net::SocketAddr;
use std::sync::OnceLock;

use quiclab_units::Time;
use quiclab_wire::{
    Decryption, Dissector, DissectorSettings, Observed, Role, Segment, TcpFlags, Transport, VERSION_1, VERSION_2,
};

use super::seal::{self, Form, Plain};

/// Secrets of the captures of `tests/data/captures`, and of the connections of [`seal`].
pub const KEY_LOG: &[u8] = include_bytes!("keys.log");

const WITHOUT_KEY_LOG: u8 = 1;
const WITH_SERVER_PORT: u8 = 2;
const ONE_TAP: u8 = 4;
const KEYS_SHIFT: u8 = 3;

pub const FROM_SERVER: u8 = 1;
/// The client from another port.
pub const MOVED: u8 = 2;
/// Ports of which none is a server's, over IPv6.
pub const OTHER_ADDRESSES: u8 = 4;
pub const CUT: u8 = 64;
pub const OTHER_INTERFACE: u8 = 128;

/// How the bytes of a datagram become its payload. Shifted left by 3 in the input.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// They are it.
    Payload,
    Initial,
    InitialVersion2,
    Handshake,
    OneRtt,
    ZeroRtt,
    /// A TCP segment: flags, sequence number, payload.
    Tcp,
    /// A 1-RTT packet behind the bytes of the datagram before.
    Coalesced,
}

const KINDS: [Kind; 8] = [
    Kind::Payload,
    Kind::Initial,
    Kind::InitialVersion2,
    Kind::Handshake,
    Kind::OneRtt,
    Kind::ZeroRtt,
    Kind::Tcp,
    Kind::Coalesced,
];

/// Appends a datagram to an input.
pub fn push(input: &mut Vec<u8>, flags: u8, kind: Kind, bytes: &[u8]) {
    let length = u16::try_from(bytes.len()).expect("no datagram is longer than 64 KiB");
    input.push(flags | (kind as u8) << 3);
    input.extend(length.to_le_bytes());
    input.extend(bytes);
}

/// Bytes that a cut capture leaves out.
const BYTES_CUT: usize = 100;

/// Datagrams through one dissector, as the module says.
pub fn quic(input: &[u8]) {
    let Some((settings, mut rest)) = input.split_first() else { return };
    let mut dissector = Dissector::new(DissectorSettings {
        server_port: (settings & WITH_SERVER_PORT != 0).then_some(4433),
        interfaces_are_one_tap: settings & ONE_TAP != 0,
    });
    if settings & WITHOUT_KEY_LOG == 0 {
        dissector.add_keys(keys(usize::from(settings >> KEYS_SHIFT)));
    }
    let mut time = 0;
    let mut before = Vec::new();
    while let [flags, low, high, behind @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(behind.len());
        let bytes;
        (bytes, rest) = behind.split_at(length);
        let sender = if flags & FROM_SERVER != 0 { Role::Server } else { Role::Client };
        let kind = KINDS[usize::from(flags >> 3 & 7)];
        let payload = payload_of(kind, sender, bytes, &before);
        time += 1_000;
        on_datagram(&mut dissector, *flags, kind, bytes, &payload, time);
        before = payload;
    }
    for flow in dissector.flows() {
        let _ =
            (flow.protocol().name(), flow.interface(), flow.quic_version(), flow.server_name(), flow.cipher_suite());
        let _ = (flow.original_destination_connection_id(), flow.client_random(), flow.migrations());
        for role in Role::BOTH {
            let _ = (flow.address(role), flow.key_updates(role));
            assert!(flow.ack_delay_exponent(role) <= 20);
        }
    }
}

/// Those of [`seal`] for 0; of the captures by name, counted from 1; behind the last one, all. Few keys make a fast target.
pub fn keys(index: usize) -> &'static [u8] {
    static BEGINS: OnceLock<Vec<usize>> = OnceLock::new();
    let begins = BEGINS.get_or_init(|| (0..KEY_LOG.len()).filter(|at| KEY_LOG[*at..].starts_with(b"# ")).collect());
    match (begins.get(index), begins.get(index + 1)) {
        (Some(begin), end) => &KEY_LOG[*begin..*end.unwrap_or(&KEY_LOG.len())],
        (None, _) => KEY_LOG,
    }
}

/// The settings with which an input of a capture begins.
pub fn settings_of_capture(index: usize) -> u8 {
    (index as u8 + 1) << KEYS_SHIFT
}

fn payload_of(kind: Kind, sender: Role, bytes: &[u8], before: &[u8]) -> Vec<u8> {
    let seal = |form, version| match Plain::read(bytes) {
        Some(plain) => seal::seal(form, version, sender, &plain),
        None => bytes.to_vec(),
    };
    match kind {
        Kind::Payload => bytes.to_vec(),
        Kind::Initial => seal(Form::Initial, VERSION_1),
        Kind::InitialVersion2 => seal(Form::Initial, VERSION_2),
        Kind::Handshake => seal(Form::Handshake, VERSION_1),
        Kind::OneRtt => seal(Form::OneRtt, VERSION_1),
        Kind::ZeroRtt => seal(Form::ZeroRtt, VERSION_1),
        Kind::Tcp => bytes.get(5..).unwrap_or_default().to_vec(),
        Kind::Coalesced => [before, &seal(Form::OneRtt, VERSION_1)].concat(),
    }
}

fn on_datagram(dissector: &mut Dissector, flags: u8, kind: Kind, bytes: &[u8], payload: &[u8], time: u64) {
    let (client, server) = addresses(flags);
    let (source, destination) = if flags & FROM_SERVER != 0 { (server, client) } else { (client, server) };
    let transport = match (kind, bytes) {
        (Kind::Tcp, [bits, a, b, c, d, ..]) => Transport::Tcp {
            sequence_number: u32::from_be_bytes([*a, *b, *c, *d]),
            acknowledgment_number: 0,
            flags: TcpFlags {
                syn: bits & 1 != 0,
                ack: bits & 2 != 0,
                fin: bits & 4 != 0,
                rst: bits & 8 != 0,
                psh: bits & 16 != 0,
            },
            options: &[],
        },
        _ => Transport::Udp,
    };
    let payload_length = (payload.len() + if flags & CUT != 0 { BYTES_CUT } else { 0 }) as u32;
    let segment = Segment {
        time: Time::from_nanos(time),
        interface: u32::from(flags & OTHER_INTERFACE != 0),
        frame_length: payload_length + 42,
        captured_length: payload.len() as u32 + 42,
        source,
        destination,
        payload_length,
        payload,
        ecn: 0,
        transport,
    };
    let _ = segment.to_packet();
    let flow = match dissector.on_segment(&segment) {
        None => return,
        Some(observed) => {
            check(&observed, &segment);
            observed.flow
        }
    };
    assert!(flow < dissector.flows().len());
}

fn addresses(flags: u8) -> (SocketAddr, SocketAddr) {
    let (client, server) = match (flags & MOVED != 0, flags & OTHER_ADDRESSES != 0) {
        (false, false) => ("10.0.0.2:50000", "10.0.0.1:4433"),
        (true, false) => ("10.0.0.2:50001", "10.0.0.1:4433"),
        (false, true) => ("[fd00::2]:50000", "[fd00::1]:50001"),
        // A packet from an address to itself.
        (true, true) => ("10.0.0.1:4433", "10.0.0.1:4433"),
    };
    (client.parse().expect("an address"), server.parse().expect("an address"))
}

/// What holds of every datagram.
fn check(observed: &Observed, segment: &Segment) {
    if segment.is_tcp() {
        assert!(observed.packets.is_empty() && observed.frames.is_empty());
    }
    let bytes: u64 = observed.packets.iter().map(|packet| u64::from(packet.length)).sum();
    assert!(bytes <= u64::from(segment.payload_length), "packets are longer than their datagram");
    let mut first_free = 0;
    for packet in observed.packets {
        let frames = &observed.frames[packet.frames.clone()];
        let is_open = packet.decryption == Decryption::Verified;
        assert!(is_open || (frames.is_empty() && packet.frame_error.is_none()));
        assert!(!is_open || packet.packet_number.is_some_and(|number| number < 1 << 62));
        if !frames.is_empty() {
            assert!(packet.frames.start >= first_free, "packets share frames");
            first_free = packet.frames.end;
        }
        frames.iter().for_each(|frame| super::check_frame(frame, packet.length as usize));
    }
}
