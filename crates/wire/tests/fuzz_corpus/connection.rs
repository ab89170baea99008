//! A QUIC connection that is built from the input, protected, and read back: mutations take place before encryption, so that they reach
//! what lies behind the tags. Every packet is expected to be opened, with exactly the frames that were put into it.
//!
//! The input is read by `arbitrary`: any bytes are a connection.

use arbitrary::{Arbitrary, Unstructured};
use quiclab_units::Time;
use quiclab_wire::{
    Decryption, Dissector, DissectorSettings, QuicFrame, Role, Segment, Transport, VERSION_1, VERSION_2, parse_frames,
};

use super::{
    datagrams::keys,
    seal::{self, Form, LATER_ID, Plain, SERVER_ID, SUITES},
};

/// Packets of one connection, behind its handshake.
const MOST_STEPS: usize = 64;
/// Bytes of the frames of one packet, so that it fits into a datagram with others.
const MOST_FRAME_BYTES: usize = 4_000;

// Flags of [`Plain`].
const TO_LATER_ID: u8 = 4;
const UPDATED_KEYS: u8 = 16;
const WRONG_TAG: u8 = 128;

#[derive(Arbitrary, Debug)]
struct Connection {
    suite: u8,
    is_version_2: bool,
    has_server_port: bool,
    client_hello: Hello,
    server_hello: Hello,
    /// Pieces of CRYPTO frames, in which the hellos are sent.
    piece: u8,
    is_backwards: bool,
    steps: Vec<Step>,
}

/// What a hello has besides what every one has.
#[derive(Arbitrary, Debug)]
struct Hello {
    session_id: u8,
    server_name: Option<String>,
    parameters: Vec<(u16, Vec<u8>)>,
    extensions: Vec<(u16, Vec<u8>)>,
}

#[derive(Arbitrary, Debug)]
struct Step {
    is_from_server: bool,
    form: StepForm,
    number_bytes: u8,
    numbers_skipped: u8,
    /// Whether the sender uses the next keys from now on.
    updates_keys: bool,
    has_later_id: bool,
    has_wrong_tag: bool,
    /// Whether the packet is in one datagram with the packet before.
    is_coalesced: bool,
    has_moved: bool,
    frames: Vec<AnyFrame>,
}

#[derive(Arbitrary, Debug, Clone, Copy, PartialEq, Eq)]
enum StepForm {
    Initial,
    Handshake,
    ZeroRtt,
    OneRtt,
    /// Counted twice: it is where most frames are.
    AlsoOneRtt,
}

#[derive(Arbitrary, Debug)]
enum AnyFrame {
    Padding(u8),
    Ping,
    Ack { largest: u32, delay: u16, first: u8, ranges: Vec<(u8, u8)>, ecn: Option<(u8, u16, u32)> },
    Stream { stream: u64, offset: Option<u64>, data: Vec<u8>, fin: bool },
    Numbers { kind: NumbersKind, values: [u64; 3] },
    NewConnectionId { sequence: u16, retire: u16, id: [u8; 20], length: u8, token: [u8; 16] },
    NewToken(Vec<u8>),
    Path { is_response: bool, data: [u8; 8] },
    Close { is_of_application: bool, error: u64, kind: u8, reason: Vec<u8> },
    Datagram { data: Vec<u8> },
    HandshakeDone,
    Raw(Vec<u8>),
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum NumbersKind {
    ResetStream,
    StopSending,
    MaxData,
    MaxStreamData,
    MaxStreams,
    DataBlocked,
    StreamDataBlocked,
    StreamsBlocked,
    RetireConnectionId,
}

/// What is expected of a packet.
struct Expected {
    packet_number: u64,
    /// Its tag is right, and nothing before it can have changed the keys.
    is_open: bool,
    frames: Vec<QuicFrame>,
    is_broken: bool,
}

/// Builds the connection, and reads it.
pub fn connection(input: &[u8]) {
    let Ok(connection) = Connection::arbitrary_take_rest(Unstructured::new(input)) else { return };
    let mut line = Line::new(&connection);
    line.handshake(&connection);
    for step in connection.steps.iter().take(MOST_STEPS) {
        line.step(step);
    }
    line.flush();
}

/// The network: packets wait until their datagram is complete.
struct Line {
    dissector: Dissector,
    suite: usize,
    version: u32,
    time: u64,
    /// The next packet number, by sender and packet number space.
    numbers: [[u32; 3]; 2],
    /// The last ones that can have been read.
    seen: [[u32; 3]; 2],
    is_updated: [bool; 2],
    /// Something that can change keys or connection IDs was sent: packets need not be opened any more.
    is_open_ended: bool,
    waiting: Vec<u8>,
    expected: Vec<Expected>,
    from: (Role, bool),
    /// Which connection ID the datagram is for: packets to different ones are never in one datagram, RFC 9000 section 12.2.
    destination: u8,
    /// A short header has no length: nothing can follow.
    is_full: bool,
}

impl Line {
    fn new(connection: &Connection) -> Self {
        let mut dissector = Dissector::new(DissectorSettings {
            server_port: connection.has_server_port.then_some(4433),
            interfaces_are_one_tap: false,
        });
        dissector.add_keys(keys(0));
        Self {
            dissector,
            suite: usize::from(connection.suite) % SUITES.len(),
            version: if connection.is_version_2 { VERSION_2 } else { VERSION_1 },
            time: 0,
            numbers: [[0; 3]; 2],
            seen: [[0; 3]; 2],
            is_updated: [false; 2],
            is_open_ended: false,
            waiting: Vec::new(),
            expected: Vec::new(),
            from: (Role::Client, false),
            destination: 0,
            is_full: false,
        }
    }

    /// Both hellos, in pieces.
    fn handshake(&mut self, connection: &Connection) {
        let (number, random) = SUITES[self.suite];
        let piece = usize::from(connection.piece).clamp(16, 255);
        let client = client_hello(&connection.client_hello, &random);
        let server = server_hello(&connection.server_hello, number);
        let encrypted = message(8, &extension_list(&connection.server_hello, true));
        for (sender, form, bytes) in [
            (Role::Client, Form::Initial, client),
            (Role::Server, Form::Initial, server),
            (Role::Server, Form::Handshake, encrypted),
        ] {
            let mut pieces: Vec<_> = bytes.chunks(piece).enumerate().collect();
            if connection.is_backwards {
                pieces.reverse();
            }
            for (number, piece_bytes) in pieces {
                let mut frames = vec![0x06];
                frames.extend(varint((number * piece) as u64));
                frames.extend(varint(piece_bytes.len() as u64));
                frames.extend(piece_bytes);
                self.flush();
                self.packet(form, sender, 1, &frames, true);
            }
        }
        self.flush();
        let new_id = [&[0x18, 1, 0, 8], LATER_ID, &[7; 16]].concat();
        self.packet(Form::OneRtt, Role::Server, 1, &new_id, true);
        self.flush();
    }

    fn step(&mut self, step: &Step) {
        let sender = if step.is_from_server { Role::Server } else { Role::Client };
        let form = match step.form {
            StepForm::Initial => Form::Initial,
            StepForm::Handshake => Form::Handshake,
            // Servers send none.
            StepForm::ZeroRtt if sender == Role::Client => Form::ZeroRtt,
            _ => Form::OneRtt,
        };
        let mut frames = Vec::new();
        for frame in &step.frames {
            let before = frames.len();
            write(frame, &mut frames);
            if frames.len() > MOST_FRAME_BYTES {
                frames.truncate(before);
            }
        }
        if frames.is_empty() {
            frames.push(0x01);
        }
        let place = (sender, step.has_moved && form == Form::OneRtt);
        let destination = match (form, sender) {
            (Form::Initial | Form::ZeroRtt, Role::Client) => 0,
            (Form::OneRtt, Role::Client) if step.has_later_id => 1,
            _ => 2,
        };
        let has_room = !self.is_full && self.waiting.len() < 40_000;
        if !(step.is_coalesced && has_room && self.from == place && self.destination == destination) {
            self.flush();
        }
        (self.from, self.destination) = (place, destination);
        if form == Form::OneRtt {
            self.is_updated[sender as usize] |= step.updates_keys;
        }
        let mut flags = step.number_bytes & 3;
        if form == Form::OneRtt && self.is_updated[sender as usize] {
            flags |= UPDATED_KEYS;
        }
        if form == Form::OneRtt && sender == Role::Client && step.has_later_id {
            flags |= TO_LATER_ID;
        }
        if step.has_wrong_tag {
            flags |= WRONG_TAG;
        }
        self.numbers[sender as usize][space(form)] += u32::from(step.numbers_skipped % 64);
        self.packet(form, sender, flags, &frames, false);
    }

    /// Adds a packet to the datagram.
    fn packet(&mut self, form: Form, sender: Role, flags: u8, frames: &[u8], is_of_handshake: bool) {
        let (number_bytes, has_right_tag) = (flags & 3, flags & WRONG_TAG == 0);
        if self.waiting.is_empty() {
            self.from.0 = sender;
        }
        let number = &mut self.numbers[sender as usize][space(form)];
        *number += 1;
        // RFC 9000 section 17.1: so many bytes that whoever has read the last one can tell which number it is.
        let seen = &mut self.seen[sender as usize][space(form)];
        let least_bytes = u8::from(*number - *seen > 100);
        let (flags, number_bytes) = (flags & !3 | number_bytes.max(least_bytes), number_bytes.max(least_bytes));
        if has_right_tag {
            *seen = *number;
        }
        let plain = Plain { flags: flags | (self.suite as u8) << 5, packet_number: *number, frames };
        let mut parsed = Vec::new();
        // As much padding as `seal` adds, so that there is a sample.
        let padded = [frames, &[0; 4][..(3 - usize::from(number_bytes)).saturating_sub(frames.len())]].concat();
        let is_broken = parse_frames(&padded, &mut parsed).is_err();
        self.expected.push(Expected {
            packet_number: u64::from(*number),
            is_open: has_right_tag && !self.is_open_ended,
            frames: parsed,
            is_broken,
        });
        // Whoever reads the packet may learn of other keys and connection IDs from it.
        let changes = |frame: &QuicFrame| matches!(frame, QuicFrame::Crypto { .. } | QuicFrame::NewConnectionId { .. });
        let all = self.expected.last().map_or(&[][..], |expected| &expected.frames);
        self.is_open_ended |= has_right_tag && !is_of_handshake && all.iter().any(changes);
        self.waiting.extend(seal::seal(form, self.version, sender, &plain));
        self.is_full = form == Form::OneRtt;
    }

    /// Sends the datagram, and checks what is read of it.
    fn flush(&mut self) {
        let payload = std::mem::take(&mut self.waiting);
        let expected = std::mem::take(&mut self.expected);
        self.is_full = false;
        if payload.is_empty() {
            return;
        }
        self.time += 1_000;
        let (sender, has_moved) = self.from;
        let client = if has_moved { "10.0.0.2:50001" } else { "10.0.0.2:50000" };
        let [client, server] = [client, "10.0.0.1:4433"].map(|text| text.parse().expect("an address"));
        let (source, destination) = if sender == Role::Server { (server, client) } else { (client, server) };
        let length = payload.len() as u32;
        let observed = self.dissector.on_segment(&Segment {
            time: Time::from_nanos(self.time),
            interface: 0,
            frame_length: length + 42,
            captured_length: length + 42,
            source,
            destination,
            payload_length: length,
            payload: &payload,
            ecn: 0,
            transport: Transport::Udp,
        });
        let observed = observed.expect("it has the server's port");
        if expected.iter().all(|expected| expected.is_open) {
            assert_eq!(observed.packets.len(), expected.len(), "packets of the datagram");
        }
        for (packet, expected) in observed.packets.iter().zip(&expected).filter(|(_, expected)| expected.is_open) {
            assert_eq!(packet.decryption, Decryption::Verified, "{packet:?}");
            assert_eq!(packet.packet_number, Some(expected.packet_number));
            assert_eq!(observed.frames[packet.frames.clone()], expected.frames);
            assert_eq!(packet.frame_error.is_some(), expected.is_broken);
        }
    }
}

/// Packet number space.
fn space(form: Form) -> usize {
    match form {
        Form::Initial => 0,
        Form::Handshake => 1,
        Form::ZeroRtt | Form::OneRtt => 2,
    }
}

/// RFC 9000 section 16.
fn varint(value: u64) -> Vec<u8> {
    let value = value & ((1 << 62) - 1);
    match value {
        0..=0x3f => vec![value as u8],
        0x40..=0x3fff => (value as u16 | 0x4000).to_be_bytes().to_vec(),
        0x4000..=0x3fff_ffff => (value as u32 | 0x8000_0000).to_be_bytes().to_vec(),
        _ => (value | 0xc000_0000_0000_0000).to_be_bytes().to_vec(),
    }
}

fn write(frame: &AnyFrame, into: &mut Vec<u8>) {
    let mut numbers = |kind: u64, values: &[u64]| {
        into.extend(varint(kind));
        values.iter().for_each(|value| into.extend(varint(*value)));
    };
    match frame {
        AnyFrame::Padding(count) => into.resize(into.len() + usize::from(*count), 0),
        AnyFrame::Ping => into.push(0x01),
        AnyFrame::Ack { largest, delay, first, ranges, ecn } => {
            let ranges = &ranges[..ranges.len().min(32)];
            let kind = if ecn.is_some() { 0x03 } else { 0x02 };
            numbers(kind, &[u64::from(*largest), u64::from(*delay), ranges.len() as u64, u64::from(*first)]);
            for (gap, length) in ranges {
                into.extend(varint(u64::from(*gap)));
                into.extend(varint(u64::from(*length)));
            }
            if let Some((ect0, ect1, ce)) = ecn {
                [u64::from(*ect0), u64::from(*ect1), u64::from(*ce)].iter().for_each(|it| into.extend(varint(*it)));
            }
        }
        AnyFrame::Stream { stream, offset, data, fin } => {
            let kind = 0x0a | u64::from(offset.is_some()) << 2 | u64::from(*fin);
            numbers(kind, &[*stream]);
            if let Some(offset) = offset {
                into.extend(varint(*offset));
            }
            into.extend(varint(data.len() as u64));
            into.extend(data);
        }
        AnyFrame::Numbers { kind, values: [one, two, three] } => match kind {
            NumbersKind::ResetStream => numbers(0x04, &[*one, *two, *three]),
            NumbersKind::StopSending => numbers(0x05, &[*one, *two]),
            NumbersKind::MaxData => numbers(0x10, &[*one]),
            NumbersKind::MaxStreamData => numbers(0x11, &[*one, *two]),
            NumbersKind::MaxStreams => numbers(0x12 | two & 1, &[*one]),
            NumbersKind::DataBlocked => numbers(0x14, &[*one]),
            NumbersKind::StreamDataBlocked => numbers(0x15, &[*one, *two]),
            NumbersKind::StreamsBlocked => numbers(0x16 | two & 1, &[*one]),
            NumbersKind::RetireConnectionId => numbers(0x19, &[*one]),
        },
        AnyFrame::NewConnectionId { sequence, retire, id, length, token } => {
            let length = usize::from(*length).clamp(1, id.len());
            numbers(0x18, &[u64::from(*sequence), u64::from(*retire)]);
            into.push(length as u8);
            into.extend(&id[..length]);
            into.extend(token);
        }
        AnyFrame::NewToken(token) => {
            numbers(0x07, &[token.len() as u64]);
            into.extend(token);
        }
        AnyFrame::Path { is_response, data } => {
            into.push(0x1a | u8::from(*is_response));
            into.extend(data);
        }
        AnyFrame::Close { is_of_application, error, kind, reason } => {
            numbers(0x1c | u64::from(*is_of_application), &[*error]);
            if !is_of_application {
                into.extend(varint(u64::from(*kind)));
            }
            into.extend(varint(reason.len() as u64));
            into.extend(reason);
        }
        AnyFrame::Datagram { data } => {
            numbers(0x31, &[data.len() as u64]);
            into.extend(data);
        }
        AnyFrame::HandshakeDone => into.push(0x1e),
        AnyFrame::Raw(bytes) => into.extend(bytes),
    }
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_be_bytes();
    [&[kind], &length[1..], body].concat()
}

/// Extensions with their length. A server's are in two messages: transport parameters in the encrypted one.
fn extension_list(hello: &Hello, has_parameters: bool) -> Vec<u8> {
    let mut list = Vec::new();
    let mut add = |kind: u16, body: &[u8]| {
        // Together they fit into a message of 16 KiB.
        if list.len() + body.len() < 12_000 {
            list.extend(kind.to_be_bytes());
            list.extend((body.len() as u16).to_be_bytes());
            list.extend(body);
        }
    };
    if let Some(name) = &hello.server_name {
        let name = &name.as_bytes()[..name.len().min(300)];
        let length = |extra: usize| ((name.len() + extra) as u16).to_be_bytes();
        add(0, &[&length(3), &[0][..], &length(0), name].concat());
    }
    if has_parameters {
        let mut parameters = Vec::new();
        let is_usable = |value: &[u8]| value.len() < 100 && !is_misleading(value);
        for (kind, value) in hello.parameters.iter().take(64).filter(|(_, value)| is_usable(value)) {
            parameters.extend(varint(u64::from(*kind)));
            parameters.extend(varint(value.len() as u64));
            parameters.extend(value);
        }
        add(0x39, &parameters);
    }
    // Version and key share would be others than those that the keys are for.
    let is_free = |kind: u16| ![0, 0x39, 0x2b, 0x33].contains(&kind);
    hello.extensions.iter().filter(|(kind, _)| is_free(*kind)).for_each(|(kind, body)| add(*kind, body));
    [&(list.len() as u16).to_be_bytes(), &list[..]].concat()
}

/// Whether a value, as a `preferred_address`, gives out a connection ID that begins with another one of the same end: what follows that one
/// in a packet could be taken for its end.
fn is_misleading(value: &[u8]) -> bool {
    let id = value.get(25..).unwrap_or_default();
    [SERVER_ID, LATER_ID].iter().any(|other| id.starts_with(other))
}

fn session_id(hello: &Hello) -> Vec<u8> {
    let length = hello.session_id.min(32);
    [&[length], &vec![5; usize::from(length)][..]].concat()
}

fn client_hello(hello: &Hello, random: &[u8; 32]) -> Vec<u8> {
    let suites = [0, 6, 0x13, 0x01, 0x13, 0x02, 0x13, 0x03, 1, 0];
    message(1, &[&[3, 3], &random[..], &session_id(hello), &suites, &extension_list(hello, true)].concat())
}

fn server_hello(hello: &Hello, suite: u16) -> Vec<u8> {
    let extensions = extension_list(hello, false);
    message(2, &[&[3, 3], &[8; 32][..], &session_id(hello), &suite.to_be_bytes(), &[0], &extensions].concat())
}
