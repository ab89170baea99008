//! Bytes of any kind from the server's address: without sockets, so that many can be tried.

use std::net::SocketAddr;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::icmp::{QUOTE_BYTES, Quote};

#[path = "../../tests/it/common/client.rs"]
#[allow(dead_code)]
mod client;

use client::Client;

/// Timeout of handshakes, in virtual time.
const TIMEOUT: Duration = Duration::from_millis(1_300);

/// 2026-01-01 00:00:00 UTC.
fn clock() -> Clock {
    Clock::virtual_at(Moment { monotonic_ns: 0, unix_ns: 1_767_225_600_000_000_000 })
}

/// What a server sends.
#[derive(Clone, Debug)]
enum Sent {
    Bytes(Vec<u8>),
    /// A long header with this first byte and version, which leads to the connection, and the bytes behind it.
    LongHeader(u8, u32, Vec<u8>),
    /// Frames in an Initial packet that can be opened.
    Frames(Vec<u8>),
    /// An ICMP error, which quotes so many bytes of the first datagram.
    Icmp(u8, u8, usize),
    Nothing,
}

fn sent() -> impl Strategy<Value = Sent> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..300);
    // Types of frames first, so that more than the first byte is read.
    let frames = (0u8..=0x1e, bytes()).prop_map(|(kind, rest)| [&[kind], &rest[..]].concat());
    prop_oneof![
        bytes().prop_map(Sent::Bytes),
        (0x80u8.., prop_oneof![Just(0u32), Just(1), any::<u32>()], bytes())
            .prop_map(|(first, version, rest)| { Sent::LongHeader(first, version, rest) }),
        frames.prop_map(Sent::Frames),
        (any::<u8>(), any::<u8>(), 0usize..40).prop_map(|(kind, code, quoted)| Sent::Icmp(kind, code, quoted)),
        Just(Sent::Nothing),
    ]
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn icmp(destination: SocketAddr, kind: u8, code: u8, quoted: &[u8]) -> IcmpError {
    IcmpError { destination, kind, code, information: 0, sender: None, quote: Quote::new(quoted) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn any_answers_end_in_one_outcome(answers in prop::collection::vec(sent(), 0..12), has_http in any::<bool>()) {
        let http = has_http.then(crate::HttpSettings::default);
        let settings = ScanSettings { http, timeout: TIMEOUT, ..ScanSettings::default() };
        let mut engine = Engine::new(&settings, 1, clock()).expect("an engine");
        let (server, local) = (address("192.0.2.1:443"), address("0.0.0.0:5000"));
        engine.ask(Request { id: 7, address: server, server_name: None, keeps_packets: true }, 0, local);
        let first = engine.outgoing(0).pop_front().expect("a first flight");
        let client = Client::new(local, &first.bytes);
        let now = engine.now();
        let datagram = first.bytes.clone();
        engine.on_sent(first, now);
        for (number, sent) in (0u8..).zip(answers) {
            let payload = match sent {
                Sent::Bytes(bytes) => bytes,
                Sent::LongHeader(first, version, rest) => {
                    let id = [&[client.source.len() as u8], &client.source[..]].concat();
                    [&[first], &version.to_be_bytes()[..], &id, &rest].concat()
                }
                Sent::Frames(frames) => client.initial(number, &frames, 1200),
                Sent::Icmp(kind, code, quoted) => {
                    engine.on_icmp(&icmp(server, kind, code, &datagram[..quoted]));
                    continue;
                }
                Sent::Nothing => {
                    engine.advance();
                    continue;
                }
            };
            let now = engine.now();
            let received = Received { source: server, local: None, unix_ns: None, ecn: 0, payload: &payload };
            engine.on_datagram(&received, now);
            engine.drive_marked();
            while let Some(outgoing) = engine.outgoing(0).pop_front() {
                engine.on_sent(outgoing, now);
            }
        }
        engine.pass(2 * TIMEOUT);
        engine.advance();
        while let Some(outgoing) = engine.outgoing(0).pop_front() {
            let now = engine.now();
            engine.on_sent(outgoing, now);
        }
        let mut outcomes = Vec::new();
        engine.hand_out(&mut |answer| outcomes.push((answer.id, answer.outcome)));
        prop_assert_eq!(outcomes.len(), 1);
        prop_assert!(!matches!(outcomes[0], (7, Outcome::Completed | Outcome::NotSent)), "{:?}", outcomes);
        prop_assert_eq!((engine.in_flight(), engine.by_address.len(), engine.wheel.len()), (0, 0, 0));
    }
}

/// The first flight, and two probes after three times the initial RTT (RFC 9002 sections 6.2.2 and 6.2.4).
#[test]
fn a_silent_address_is_probed_after_a_second_and_takes_the_timeout_to_the_millisecond() {
    const STEP: Duration = Duration::from_millis(1);
    let settings = ScanSettings { timeout: TIMEOUT, ..ScanSettings::default() };
    let mut engine = Engine::new(&settings, 1, clock()).expect("an engine");
    engine.ask(
        Request { id: 7, address: address("192.0.2.1:443"), server_name: None, keeps_packets: true },
        0,
        address("0.0.0.0:5000"),
    );
    let mut answers = Vec::new();
    let mut passed = Duration::ZERO;
    while answers.is_empty() {
        engine.advance();
        while let Some(outgoing) = engine.outgoing(0).pop_front() {
            let now = engine.now();
            engine.on_sent(outgoing, now);
        }
        engine.hand_out(&mut |answer| answers.push((passed, answer)));
        engine.pass(STEP);
        passed += STEP;
        assert!(passed < 2 * TIMEOUT, "no answer within twice the timeout");
    }
    let (took, answer) = answers.remove(0);
    assert_eq!(answer.outcome, Outcome::Silent);
    assert!((TIMEOUT..=TIMEOUT + 2 * STEP).contains(&took), "{took:?}");
    let sent: Vec<_> = answer.packets.iter().map(|packet| (packet.time_ns - answer.started) / 1_000_000).collect();
    assert!(matches!(sent[..], [0, 999..=1001, 999..=1001]), "{sent:?} ms");
}

#[test]
fn a_clock_that_is_set_breaks_no_duration_and_is_reported() {
    let mut engine = Engine::new(&ScanSettings::default(), 1, clock()).expect("an engine");
    let (server, local) = (address("192.0.2.1:443"), address("0.0.0.0:5000"));
    engine.ask(Request { id: 7, address: server, server_name: None, keeps_packets: true }, 0, local);
    let first = engine.outgoing(0).pop_front().expect("a first flight");
    let client = Client::new(local, &first.bytes);
    let before = engine.now();
    engine.on_sent(first, before);
    let hour_ns = 3_600_000_000_000;
    engine.pass(Duration::from_millis(20));
    engine.shared.clock.set_forwards(hour_ns);
    let payload = client.initial(0, &[0x1c, 1, 0, 0], 1200);
    // The kernel has the new time too.
    let now = engine.now();
    let received = Received { source: server, local: None, unix_ns: Some(now.unix_ns), ecn: 0, payload: &payload };
    engine.on_datagram(&received, now);
    engine.advance();
    let mut answers = Vec::new();
    engine.hand_out(&mut |answer| answers.push(answer));
    let [answer] = &answers[..] else { panic!("{answers:?}") };
    assert_eq!(answer.outcome, Outcome::Closed);
    let took_ns = answer.packets[1].time_ns - answer.packets[0].time_ns;
    assert_eq!(took_ns, 20_000_000, "to the nanosecond: one clock measures it");
    assert!(answer.detail.as_deref().is_some_and(|it| it.contains("the clock was set by 3600.000 s")), "{answer:?}");
}

#[test]
fn handshakes_with_one_address_end_in_any_order() {
    let settings = ScanSettings { timeout: Duration::from_secs(60), ..ScanSettings::default() };
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
        let mut engine = Engine::new(&settings, 1, clock()).expect("an engine");
        let server = address("192.0.2.1:443");
        for id in 0..3 {
            let request = Request { id, address: server, server_name: None, keeps_packets: false };
            engine.ask(request, 0, address("0.0.0.0:5000"));
        }
        for (left, place) in (0..3).rev().zip(order) {
            assert!(engine.remove(place).is_some());
            let mut listed = 0;
            let mut next = engine.by_address.get(&server).copied();
            while let Some(handshake) = next.and_then(|place| engine.handshake(place)) {
                listed += 1;
                next = handshake.next_of_address;
            }
            assert_eq!(listed, left, "{order:?}");
        }
        assert!(engine.by_address.is_empty());
    }
}

/// A host that is scanned itself learns the port of the socket, which all targets have in common, and one connection ID: its own.
#[test]
fn a_forged_icmp_error_about_another_target_changes_nothing() {
    let families = [
        ("192.0.2.1:443", "192.0.2.2:443", [(3, 13), (3, 3), (11, 0)]),
        ("[2001:db8::1]:443", "[2001:db8::2]:443", [(1, 1), (1, 4), (3, 0)]),
    ];
    for (hostile, other, messages) in families {
        let settings = ScanSettings { timeout: TIMEOUT, ..ScanSettings::default() };
        let mut engine = Engine::new(&settings, 1, clock()).expect("an engine");
        let mut datagrams = Vec::new();
        for (id, target) in [hostile, other].into_iter().enumerate() {
            let request = Request { id: id as u64, address: address(target), server_name: None, keeps_packets: false };
            engine.ask(request, 0, address("0.0.0.0:5000"));
            let sent = engine.outgoing(0).pop_front().expect("a first flight");
            datagrams.push(sent.bytes.clone());
            let now = engine.now();
            engine.on_sent(sent, now);
        }
        let own = &datagrams[0];
        for (kind, code) in messages {
            // Eight bytes of UDP, as the kernel hands them over: no payload. Then as much as the host knows, and guesses.
            for quoted in [&[][..], &own[..8], own, &[0xff; QUOTE_BYTES]] {
                engine.on_icmp(&icmp(address(other), kind, code, quoted));
            }
        }
        assert_eq!((engine.counters().icmp_errors, engine.counters().unproven_icmp_errors), (12, 12));
        engine.advance();
        assert!(!engine.hand_out(&mut |answer| panic!("{answer:?}")), "a handshake is over");
        // Who has seen the datagram ends it.
        let (kind, code) = messages[0];
        engine.on_icmp(&icmp(address(hostile), kind, code, own));
        engine.advance();
        let mut ended = Vec::new();
        engine.hand_out(&mut |answer| ended.push((answer.id, answer.outcome)));
        assert_eq!(ended, [(0, Outcome::Prohibited)]);
        engine.pass(2 * TIMEOUT);
        engine.advance();
        while let Some(outgoing) = engine.outgoing(0).pop_front() {
            let now = engine.now();
            engine.on_sent(outgoing, now);
        }
        let mut answers = Vec::new();
        engine.hand_out(&mut |answer| answers.push(answer));
        assert_eq!(answers.iter().map(|answer| answer.outcome).collect::<Vec<_>>(), [Outcome::Silent]);
        let detail = answers[0].detail.as_deref().expect("a note");
        assert!(detail.contains("quotes no connection ID, and ended nothing"), "{detail}");
    }
}
