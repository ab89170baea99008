//! What a capture lacks, so that the account of the limit would be wrong. Accounts that are right: in the handshakes made by hand.

use quiclab_units::Time;
use quiclab_wire::{QuicForm, Role};

use super::super::log::{Datagram, Frame, HandshakeLog, Packet};
use super::super::measures::measure;
use super::super::view::Views;
use crate::output::RunMetrics;
use QuicForm::{Handshake, Initial};
use Role::{Client, Server};

const NAMES: [&str; 4] = [
    "handshake_amplification_received_bytes",
    "handshake_amplification_sent_bytes",
    "handshake_amplification_excess_bytes",
    "handshake_amplification_blocked_ns",
];

fn packet(form: QuicForm, number: u64, frames: Vec<Frame>) -> Packet {
    Packet { form, number: Some(number), is_read: true, has_token: false, frames: frames.into() }
}

fn crypto(offset: u64, end: u64) -> Frame {
    Frame::Crypto { offset, end }
}

fn ack(first: u64, last: u64) -> Frame {
    Frame::Ack { ranges: Box::new([(first, last)]), delay_ns: Some(0) }
}

/// A handshake at the server's tap: a ClientHello of two datagrams, an answer of 3 datagrams, the client's Handshake packet.
fn datagrams() -> Vec<Datagram> {
    let all = [
        (0, Client, vec![packet(Initial, 0, vec![crypto(0, 1_100)])]),
        (1, Client, vec![packet(Initial, 1, vec![crypto(1_100, 1_600)])]),
        (2, Server, vec![packet(Initial, 0, vec![ack(0, 1), crypto(0, 90)])]),
        (3, Server, vec![packet(Handshake, 0, vec![crypto(0, 1_100)])]),
        (4, Server, vec![packet(Handshake, 1, vec![crypto(1_100, 2_200)])]),
        (9, Client, vec![packet(Handshake, 0, vec![ack(0, 1), crypto(0, 52)])]),
    ];
    let datagram = |(time_ms, sender, packets): (u64, Role, Vec<Packet>)| Datagram {
        time: Time::from_nanos(time_ms * 1_000_000),
        sender,
        bytes: 1_200,
        key: None,
        is_complete: true,
        packets: packets.into(),
    };
    all.into_iter().map(datagram).collect()
}

fn measured(datagrams: Vec<Datagram>) -> RunMetrics {
    let mut log = HandshakeLog::default();
    log.datagrams = datagrams;
    let mut run = RunMetrics::empty();
    measure(&Views::of_one_tap(&log, Some(Role::Server)), false, &mut run);
    run
}

/// Their values, where all have one.
fn values(run: &RunMetrics) -> Option<[u64; 4]> {
    let metrics = &run.metrics;
    Some([
        metrics.handshake_amplification_received_bytes?,
        metrics.handshake_amplification_sent_bytes?,
        metrics.handshake_amplification_excess_bytes?,
        metrics.handshake_amplification_blocked_ns?,
    ])
}

fn assert_withheld(run: &RunMetrics, reason: &str) {
    for name in NAMES {
        assert_eq!(run.metrics.value(name), Some(None), "{name}");
        let said = run.withheld.iter().find(|it| it.metrics.iter().any(|metric| metric == name));
        assert!(said.is_some_and(|it| it.reason.contains(reason)), "{name}: {said:?}");
    }
    assert!(run.warnings.iter().all(|warning| warning.code != "amplification_limit_exceeded"), "{:?}", run.warnings);
}

#[test]
fn a_whole_capture_has_an_account() {
    assert_eq!(values(&measured(datagrams())), Some([2_400, 3_600, 0, 0]));
}

#[test]
fn a_cut_datagram_of_the_client_before_its_address_is_validated_takes_the_account_away() {
    let cut = |place: usize| {
        let mut all = datagrams();
        all[place].is_complete = false;
        measured(all)
    };
    assert_withheld(&cut(1), "a datagram of the client was cut");
    // Its Handshake packet was seen, and what the server sends has a length whatever is in it.
    for place in [4, 5] {
        assert_eq!(values(&cut(place)), Some([2_400, 3_600, 0, 0]), "datagram {place}");
    }
}

/// The server keeps its limit of 7200 bytes, and would exceed one of 3600 bytes by its next datagram.
#[test]
fn a_datagram_of_the_client_that_the_capture_missed_is_no_excess_of_the_server() {
    let mut all = datagrams();
    all.insert(5, Datagram { time: Time::from_nanos(5_000_000), ..datagrams().remove(4) });
    all[5].packets = Box::new([packet(Handshake, 2, vec![crypto(2_200, 3_300)])]);
    assert_eq!(values(&measured(all)), Some([2_400, 4_800, 0, 0]));
    let mut all = datagrams();
    all.insert(5, Datagram { time: Time::from_nanos(5_000_000), ..datagrams().remove(4) });
    all[5].packets = Box::new([packet(Handshake, 2, vec![crypto(2_200, 3_300)])]);
    all.remove(1);
    assert_withheld(&measured(all), "1 Initial and Handshake packets of the client were acknowledged");
}

#[test]
fn a_datagram_of_the_server_that_the_capture_missed_takes_the_account_away() {
    let mut all = datagrams();
    all.remove(3);
    assert_withheld(&measured(all), "1 Initial and Handshake packets of the server were acknowledged");
}

/// The capture has it, and its length counts; what its number is does not matter.
#[test]
fn a_packet_without_a_number_is_not_missed() {
    let mut all = datagrams();
    all[1].packets[0].number = None;
    assert_eq!(values(&measured(all)), Some([2_400, 3_600, 0, 0]));
}
