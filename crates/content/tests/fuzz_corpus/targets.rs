//! What the fuzzer runs (`crates/content/fuzz`), and what `tests/fuzz_corpus.rs` replays: one function for each target.
//! A wrong answer panics as a crash does.
#![allow(dead_code)]

#[path = "../../../wire/tests/fuzz_corpus/seal.rs"]
mod seal;

use std::{collections::BTreeMap, net::SocketAddr};

use quiclab_content::{Classifier, Lost};
use quiclab_path::content::{
    Content, ContentFrame, ContentPacket, Direction, Flight, PacketForm, Probe, data_of_words,
    rule::{Matcher, Rule},
};
use quiclab_units::Time;
use quiclab_wire::{Role, Segment, Transport, VERSION_1, VERSION_2};
use seal::{Form, Plain};

type Target = fn(&[u8]);

/// All targets by the names of their corpora.
pub const ALL: [(&str, Target); 2] = [("datagrams", datagrams), ("rule", rule)];

/// Secrets of the captures of `crates/wire`, and of the connections of [`seal`].
const KEY_LOG: &[u8] = include_bytes!("../../../wire/tests/fuzz_corpus/keys.log");
const PORT: u16 = 4433;

/// Flags of a datagram. The layout is that of the target `quic` of `crates/wire`, whose corpus is replayed here too: a byte of settings,
/// then of each datagram flags, a length of two bytes, and a payload or a plain packet.
const FROM_SERVER: u8 = 1;
const MOVED: u8 = 2;
const AS_FRAME: u8 = 4;
const CUT: u8 = 64;
const LOST: u8 = 128;

const RULES: [&str; 8] = [
    "flight 1 after datagram 1",
    "first stream frame or not handshake_done",
    "from probe 1..2 and until (1-rtt crypto 0..100)",
    "first 3 times (repeat or acknowledgment only)",
    "data of flight 2.. and connection 1",
    "datagram 2..4 or unreadable",
    "initial packet and not (retry or version_negotiation)",
    "first first not any",
];

/// Datagrams through a classifier, of which some are lost.
pub fn datagrams(input: &[u8]) {
    let Some((settings, mut rest)) = input.split_first() else { return };
    let mut classifier = Classifier::new(PORT);
    if settings & 1 == 0 {
        classifier.add_keys(KEY_LOG);
    }
    let mut matchers = RULES.map(|rule| Matcher::new(rule.parse().expect("a rule")));
    let mut seen = Seen::default();
    let mut before = Vec::new();
    let mut lost = Vec::new();
    let mut time = 0;
    while let [flags, low, high, behind @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(behind.len());
        let bytes;
        (bytes, rest) = behind.split_at(length);
        time += 1_000;
        let to = if flags & FROM_SERVER != 0 { Direction::ToClient } else { Direction::ToServer };
        let payload = payload_of(*flags, bytes, &before);
        let content = if flags & AS_FRAME != 0 {
            classifier.on_frame(Time::from_nanos(time), to, &payload)
        } else {
            classifier.on_segment(to, &segment(*flags, time, &payload))
        };
        before = payload;
        let Some(content) = content else { continue };
        seen.check(&content, to);
        for matcher in &mut matchers {
            matcher.matches(&content);
        }
        if flags & LOST == 0 {
            classifier.on_delivered(&content);
        } else {
            lost.push(content);
        }
    }
    for matcher in &matchers {
        let counts = matcher.counts();
        assert!(counts.matched + counts.undecided <= counts.asked);
        assert_eq!(counts.asked, matchers[0].counts().asked);
    }
    let lost = Lost::of_contents(&lost);
    assert!(lost.differences(&lost).is_empty());
    let none = Lost::default();
    assert_eq!(lost.differences(&none).is_empty(), lost.is_empty());
    // What is delivered need not be what was given.
    let forged = Content { connection: u32::MAX, ..forged() };
    classifier.on_delivered(&forged);
    classifier.on_delivered(&Content { connection: 0, ..forged });
}

/// The text of a rule.
pub fn rule(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match text.parse::<Rule>() {
        Ok(rule) => {
            assert_eq!(rule.to_string(), text);
            let mut matcher = Matcher::new(rule);
            for datagram in 1..4 {
                let content = Content { datagram, ..forged() };
                matcher.matches(&content);
                matcher.matches(&Content { is_whole: true, ..content });
            }
            assert_eq!(matcher.counts().asked, 6);
        }
        Err(error) => assert!((1..=text.chars().count() + 1).contains(&error.at), "{error}"),
    }
    let _ = data_of_words(text);
}

/// A content that nobody read.
fn forged() -> Content {
    Content {
        direction: Direction::ToClient,
        connection: 1,
        datagram: 1,
        flight: Flight::Part { number: u32::MAX, datagram: u64::MAX },
        data_flight: Some(7),
        probe: Probe::Number(u64::MAX),
        packets: vec![ContentPacket {
            form: PacketForm::Handshake,
            number: Some(u64::MAX),
            is_read: true,
            frames: vec![
                ContentFrame::Crypto { offset: u64::MAX, length: u64::MAX },
                ContentFrame::Ack { largest: u64::MAX },
            ],
        }],
        is_whole: false,
    }
}

/// What was seen of each direction of each connection.
#[derive(Default)]
struct Seen(BTreeMap<(u32, Direction), Counts>);

#[derive(Default)]
struct Counts {
    datagrams: u64,
    probes: u64,
    /// The latest flight, and how many datagrams it has.
    flight: (u32, u64),
}

impl Seen {
    /// What holds of every content.
    fn check(&mut self, content: &Content, to: Direction) {
        assert!(content.connection > 0 && content.direction == to);
        let Counts { datagrams, probes, flight } = self.0.entry((content.connection, to)).or_default();
        *datagrams += 1;
        assert_eq!(content.datagram, *datagrams);
        if let Probe::Number(number) = content.probe {
            *probes += 1;
            assert_eq!((number, content.flight), (*probes, Flight::Repeat));
        }
        if let Flight::Part { number, datagram } = content.flight {
            assert!(number > 0 && datagram > 0);
            // A flight goes on, or another one begins; behind a Retry the first one does.
            assert!((number, datagram) == (flight.0, flight.1 + 1) || datagram == 1, "{flight:?} {number} {datagram}");
            *flight = (number, datagram);
        }
        if content.flight == Flight::Unknown {
            assert!(!content.is_read());
        }
        let words = content.describe();
        let mut data: Vec<_> = content.data().collect();
        data.dedup();
        let (mut of_words, is_read) = data_of_words(&words);
        of_words.dedup();
        let is_known = content.packets.iter().all(|packet| packet.form != PacketForm::Unknown);
        assert!(!is_known || (of_words == data && is_read == content.is_read()), "{words}");
    }
}

fn payload_of(flags: u8, bytes: &[u8], before: &[u8]) -> Vec<u8> {
    let sender = if flags & FROM_SERVER != 0 { Role::Server } else { Role::Client };
    let seal = |form, version| match Plain::read(bytes) {
        Some(plain) => seal::seal(form, version, sender, &plain),
        None => bytes.to_vec(),
    };
    match flags >> 3 & 7 {
        1 => seal(Form::Initial, VERSION_1),
        2 => seal(Form::Initial, VERSION_2),
        3 => seal(Form::Handshake, VERSION_1),
        4 => seal(Form::OneRtt, VERSION_1),
        5 => seal(Form::ZeroRtt, VERSION_1),
        7 => [before, &seal(Form::OneRtt, VERSION_1)].concat(),
        _ => bytes.to_vec(),
    }
}

fn segment(flags: u8, time: u64, payload: &[u8]) -> Segment<'_> {
    let client = SocketAddr::from(([10, 0, 0, 2], 50_000 + u16::from(flags & MOVED != 0)));
    let server = SocketAddr::from(([10, 0, 0, 1], PORT));
    let (source, destination) = if flags & FROM_SERVER != 0 { (server, client) } else { (client, server) };
    let payload_length = payload.len() as u32 + if flags & CUT != 0 { 100 } else { 0 };
    Segment {
        time: Time::from_nanos(time),
        interface: 0,
        frame_length: payload_length + 42,
        captured_length: payload.len() as u32 + 42,
        source,
        destination,
        payload_length,
        payload,
        ecn: 0,
        transport: Transport::Udp,
    }
}
