//! What the classifier says of captures of real stacks.

use crate::common::{contents, words};
use quiclab_path::content::{Content, Direction, Flight, Probe};

/// The flights of one direction: how many datagrams each of the first ones has.
fn flights(contents: &[Content], direction: Direction) -> Vec<u64> {
    let mut flights: Vec<u64> = Vec::new();
    for content in contents.iter().filter(|content| content.direction == direction) {
        if let Flight::Part { number, datagram } = content.flight {
            flights.resize(flights.len().max(number as usize), 0);
            assert_eq!(datagram, flights[number as usize - 1] + 1);
            flights[number as usize - 1] = datagram;
        }
    }
    flights
}

#[test]
fn a_client_hello_of_two_datagrams_is_one_flight() {
    let contents = contents("quic-go.pcapng", true, |_| false);
    assert_eq!(
        words(&contents)[..8],
        [
            "client datagram 1 (flight 1, datagram 1): Initial 0 [CRYPTO 0..63, CRYPTO 66..1234]",
            "client datagram 2 (flight 1, datagram 2): Initial 1 [PADDING, CRYPTO 63..66, CRYPTO 1234..1516]",
            "server datagram 1 (flight 1, datagram 1): Initial 0 [ACK 1, PADDING, CRYPTO 0..1178]",
            "server datagram 2 (flight 1, datagram 2): Handshake 1 [CRYPTO 0..621], 1-RTT 2 [NEW_CONNECTION_ID x3]",
            "server datagram 3 (flight 1, datagram 3): 1-RTT 3 [STREAM 3 0..10]",
            "client datagram 3 (flight 2, datagram 1): Initial 2 [ACK 0, PADDING]",
            "client datagram 4 (flight 2, datagram 2): Handshake 3 [ACK 1, CRYPTO 0..36], 1-RTT 4 [ACK 3, \
             NEW_CONNECTION_ID x2, RETIRE_CONNECTION_ID, NEW_CONNECTION_ID]",
            "client datagram 5 (flight 2, datagram 3): 1-RTT 5 [STREAM 0 0..38 FIN, STREAM 2 0..8]",
        ]
    );
}

#[test]
fn flights_are_those_of_the_handshake_whatever_the_stack_coalesces() {
    for (name, client, server) in [
        ("quic-go.pcapng", [2, 3], 3),
        ("quiche.pcapng", [2, 6], 2),
        ("ngtcp2.pcapng", [1, 1], 1),
        ("lsquic.pcapng", [1, 1], 1),
        ("zero-rtt.pcapng", [1, 1], 2),
    ] {
        let contents = contents(name, true, |content| content.connection != 1);
        let of_first: Vec<Content> = contents.into_iter().filter(|content| content.connection == 1).collect();
        assert_eq!(flights(&of_first, Direction::ToServer)[..2], client, "{name}");
        assert_eq!(flights(&of_first, Direction::ToClient)[0], server, "{name}");
    }
}

#[test]
fn a_flight_that_was_lost_was_not_received_so_the_peer_is_still_in_its_own() {
    let is_lost = |content: &Content| {
        content.direction == Direction::ToServer && matches!(content.flight, Flight::Part { number: 2, .. })
    };
    let contents = contents("quiche.pcapng", true, is_lost);
    // As if the server had gone on by itself: all it sends is its first flight.
    assert_eq!(flights(&contents, Direction::ToClient).len(), 1);
    assert!(flights(&contents, Direction::ToServer).len() == 2);
}

#[test]
fn behind_a_retry_the_first_flight_begins_anew() {
    let contents = contents("retry.pcapng", true, |_| false);
    assert_eq!(
        words(&contents)[..4],
        [
            "client datagram 1 (flight 1, datagram 1): Initial 389552442 [CRYPTO 0..362, PADDING]",
            "server datagram 1: Retry",
            "client datagram 2 (flight 1, datagram 1): Initial 389552443 [CRYPTO 0..362, PADDING]",
            "server datagram 2 (flight 1, datagram 1): Initial 1700815244 [ACK 389552443, CRYPTO 0..90], Handshake \
             1700815244 [CRYPTO 0..958]",
        ]
    );
}

#[test]
fn version_negotiation_is_part_of_no_flight() {
    let contents = contents("version-negotiation.pcapng", true, |_| false);
    assert_eq!(contents[0].flight, Flight::Outside);
    assert_eq!(words(&contents)[1], "server datagram 1: Version Negotiation");
    assert!(contents[1].packets[0].is_read);
}

#[test]
fn early_data_is_part_of_the_clients_first_flight() {
    let contents = contents("zero-rtt.pcapng", true, |_| false);
    let second: Vec<Content> = contents.into_iter().filter(|content| content.connection == 2).collect();
    let words = words(&second);
    assert!(words[0].starts_with("connection 2 client datagram 1 (flight 1, datagram 1): Initial"), "{}", words[0]);
    let early = second.iter().position(|content| content.data().any(|data| data.to_string().starts_with("stream 0")));
    let early = &second[early.unwrap()];
    assert!(early.packets.iter().any(|packet| packet.form.name() == "0-rtt"), "{}", early.describe());
    assert!(matches!(early.flight, Flight::Part { number: 1, .. }), "{}", early.describe());
}

#[test]
fn searching_for_the_path_mtu_is_no_probe_timeout() {
    let contents = contents("ngtcp2.pcapng", true, |_| false);
    let searches = contents.iter().filter(|content| words(&[(*content).clone()])[0].contains("[PING, PADDING]"));
    assert!(searches.clone().count() > 2);
    assert!(searches.clone().all(|content| content.probe == Probe::No && content.flight == Flight::Repeat));
}

#[test]
fn without_keys_only_initial_packets_are_read_and_nothing_is_guessed() {
    let contents = contents("quiche.pcapng", false, |_| false);
    assert_eq!(
        words(&contents)[..6],
        [
            "client datagram 1 (flight 1, datagram 1): Initial 0 [CRYPTO 0..1133]",
            "client datagram 2 (flight 1, datagram 2): Initial 1 [CRYPTO 1133..1472]",
            "server datagram 1 (flight 1, datagram 1): Initial 0 [ACK 1, CRYPTO 0..1123]",
            "server datagram 2 (flight 1, datagram 2): Initial 1 [CRYPTO 1123..1178], Handshake (not readable)",
            "client datagram 3 (flight 2, datagram 1): Initial 2 [ACK 0]",
            "client datagram 4 (flight unknown): Initial 3 [ACK 1], Handshake (not readable), 1-RTT (not readable)",
        ]
    );
    assert!(contents[6..].iter().all(|content| content.flight == Flight::Unknown && content.probe == Probe::Unknown));
}
