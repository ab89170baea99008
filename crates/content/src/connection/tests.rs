use quiclab_path::content::ContentPacket;

use super::*;

use Direction::{ToClient, ToServer};
use PacketForm::{Handshake, Initial, OneRtt, Retry};

/// A connection, packet by packet.
#[derive(Default)]
struct Line {
    connection: Connection,
    /// Next packet number, by direction and space.
    numbers: [[u64; 3]; 2],
}

fn crypto(from: u64, to: u64) -> ContentFrame {
    ContentFrame::Crypto { offset: from, length: to - from }
}

fn stream(from: u64, to: u64) -> ContentFrame {
    ContentFrame::Stream { id: 0, offset: from, length: to - from, fin: false }
}

fn ack(largest: u64) -> ContentFrame {
    ContentFrame::Ack { largest }
}

impl Line {
    /// Sends a datagram of these packets, and loses it.
    fn lose(&mut self, direction: Direction, packets: &[(PacketForm, &[ContentFrame])]) -> Content {
        let mut reading = Reading {
            packets: Vec::new(),
            is_whole: true,
            length: 1200,
            acknowledged: Vec::new(),
            control: Vec::new(),
        };
        for (form, frames) in packets {
            let number = space(*form).map(|space| {
                self.numbers[index(direction)][space] += 1;
                for frame in *frames {
                    if let ContentFrame::Ack { largest } = frame {
                        reading.acknowledged.push((space, 0, *largest));
                    }
                }
                self.numbers[index(direction)][space] - 1
            });
            for frame in *frames {
                if *frame == ContentFrame::HandshakeDone {
                    reading.control.push(Some(1));
                }
            }
            reading.packets.push(ContentPacket { form: *form, number, is_read: true, frames: frames.to_vec() });
        }
        self.connection.on_sent(direction, 1, reading)
    }

    /// The same, and it arrives.
    fn send(&mut self, direction: Direction, packets: &[(PacketForm, &[ContentFrame])]) -> Content {
        let content = self.lose(direction, packets);
        self.connection.on_delivered(&content);
        content
    }
}

fn part(content: &Content) -> (u32, u64) {
    match content.flight {
        Flight::Part { number, datagram } => (number, datagram),
        other => panic!("{other:?}: {}", content.describe()),
    }
}

#[test]
fn an_instant_ack_is_the_first_datagram_of_the_servers_first_flight() {
    let mut line = Line::default();
    assert_eq!(part(&line.send(ToServer, &[(Initial, &[crypto(0, 300)])])), (1, 1));
    assert_eq!(part(&line.send(ToClient, &[(Initial, &[ack(0)])])), (1, 1));
    // It brings no data: what the client sends now is no answer yet.
    let probe = line.send(ToServer, &[(Initial, &[ContentFrame::Ping])]);
    assert_eq!((probe.flight, probe.probe), (Flight::Repeat, Probe::Number(1)));
    assert_eq!(
        part(&line.send(ToClient, &[(Initial, &[ack(1), crypto(0, 90)]), (Handshake, &[crypto(0, 900)])])),
        (1, 2)
    );
    assert_eq!(part(&line.send(ToServer, &[(Initial, &[ack(1)])])), (2, 1));
    assert_eq!(part(&line.send(ToClient, &[(Handshake, &[crypto(900, 1300)])])), (1, 3));
    assert_eq!(part(&line.send(ToServer, &[(Handshake, &[ack(1), crypto(0, 36)])])), (2, 2));
    assert_eq!(part(&line.send(ToServer, &[(OneRtt, &[stream(0, 20)])])), (2, 3));
    assert_eq!(part(&line.send(ToClient, &[(OneRtt, &[ack(0), ContentFrame::HandshakeDone])])), (2, 1));
    assert_eq!(part(&line.send(ToServer, &[(OneRtt, &[ack(0)])])), (3, 1));
}

#[test]
fn a_flight_that_waits_for_the_amplification_limit_stays_one_flight() {
    let mut line = Line::default();
    line.send(ToServer, &[(Initial, &[crypto(0, 300)])]);
    for datagram in 0..3 {
        let content = line.send(ToClient, &[(Handshake, &[crypto(datagram * 1000, (datagram + 1) * 1000)])]);
        assert_eq!(part(&content), (1, datagram + 1));
    }
    assert_eq!(part(&line.send(ToServer, &[(Handshake, &[ack(2)])])), (2, 1));
    assert_eq!(part(&line.send(ToClient, &[(Handshake, &[crypto(3000, 4000)])])), (1, 4));
}

#[test]
fn a_client_hello_that_is_lost_is_repeated_by_probes() {
    let mut line = Line::default();
    assert_eq!(part(&line.lose(ToServer, &[(Initial, &[crypto(0, 300)])])), (1, 1));
    for number in 1..=2 {
        let again = line.lose(ToServer, &[(Initial, &[crypto(0, 300)])]);
        assert_eq!((again.flight, again.probe, again.data_flight), (Flight::Repeat, Probe::Number(number), Some(1)));
        assert_eq!(again.datagram, number + 1);
    }
    line.send(ToServer, &[(Initial, &[crypto(0, 300)])]);
    assert_eq!(part(&line.send(ToClient, &[(Initial, &[ack(3), crypto(0, 90)])])), (1, 1));
    assert_eq!(part(&line.send(ToServer, &[(Initial, &[ack(0)])])), (2, 1));
}

#[test]
fn the_repeats_of_a_lost_flight_bring_its_data() {
    let mut line = Line::default();
    line.send(ToServer, &[(Initial, &[crypto(0, 300)])]);
    line.send(ToClient, &[(Initial, &[ack(0), crypto(0, 90)]), (Handshake, &[crypto(0, 900)])]);
    assert_eq!(part(&line.lose(ToServer, &[(Initial, &[ack(0)]), (Handshake, &[ack(0), crypto(0, 36)])])), (2, 1));
    assert_eq!(part(&line.lose(ToServer, &[(OneRtt, &[stream(0, 20)])])), (2, 2));
    // The server is still in its first flight.
    let again = line.send(ToClient, &[(Handshake, &[crypto(0, 900)])]);
    assert_eq!((again.flight, again.probe, again.data_flight), (Flight::Repeat, Probe::Number(1), Some(1)));
    let again = line.send(ToServer, &[(Handshake, &[ack(1), crypto(0, 36)])]);
    assert_eq!((again.flight, again.probe, again.data_flight), (Flight::Repeat, Probe::Number(1), Some(2)));
    assert_eq!(part(&line.send(ToClient, &[(OneRtt, &[ContentFrame::HandshakeDone])])), (2, 1));
    assert_eq!(part(&line.send(ToServer, &[(OneRtt, &[ack(0)])])), (3, 1));
}

#[test]
fn a_repeat_behind_an_acknowledgment_of_a_later_packet_is_a_retransmission_and_not_a_probe() {
    let mut line = Line::default();
    line.send(ToServer, &[(Initial, &[crypto(0, 300)])]);
    line.lose(ToClient, &[(Handshake, &[crypto(0, 900)])]);
    line.send(ToClient, &[(Handshake, &[crypto(900, 1300)])]);
    // Not while the acknowledgment is on its way.
    line.lose(ToServer, &[(Handshake, &[ack(1)])]);
    assert_eq!(line.lose(ToClient, &[(Handshake, &[crypto(0, 900)])]).probe, Probe::Number(1));
    line.send(ToServer, &[(Handshake, &[ack(1)])]);
    // That repeat is in a packet behind it.
    assert_eq!(line.lose(ToClient, &[(Handshake, &[crypto(0, 900)])]).probe, Probe::Number(2));
    line.send(ToServer, &[(Handshake, &[ack(3)])]);
    let again = line.send(ToClient, &[(Handshake, &[crypto(0, 900)])]);
    assert_eq!((again.flight, again.probe), (Flight::Repeat, Probe::No));
}

#[test]
fn behind_a_retry_that_arrives_the_client_begins_anew_and_otherwise_not() {
    for is_lost in [false, true] {
        let mut line = Line::default();
        line.send(ToServer, &[(Initial, &[crypto(0, 300)])]);
        let retry = line.lose(ToClient, &[(Retry, &[])]);
        assert_eq!((retry.flight, retry.probe, retry.datagram), (Flight::Outside, Probe::No, 1));
        if !is_lost {
            line.connection.on_delivered(&retry);
        }
        let again = line.send(ToServer, &[(Initial, &[crypto(0, 300)])]);
        assert_eq!(again.datagram, 2);
        let expected = if is_lost { Flight::Repeat } else { Flight::Part { number: 1, datagram: 1 } };
        assert_eq!(again.flight, expected);
        assert_eq!(part(&line.send(ToClient, &[(Initial, &[ack(1), crypto(0, 90)])])), (1, 1));
        // A second one is of no effect (RFC 9000, section 17.2.5.2).
        line.send(ToClient, &[(Retry, &[])]);
        assert_eq!(line.send(ToServer, &[(Initial, &[crypto(0, 300)])]).flight, Flight::Repeat);
    }
}

#[test]
fn a_ping_beside_a_new_acknowledgment_is_no_probe_and_one_in_a_longer_datagram_neither() {
    let mut line = Line::default();
    line.send(ToServer, &[(Initial, &[crypto(0, 300)])]);
    line.send(ToClient, &[(OneRtt, &[stream(0, 1000)])]);
    let asking = line.send(ToServer, &[(OneRtt, &[ack(0), ContentFrame::Ping])]);
    assert_eq!((part(&asking), asking.probe), ((2, 1), Probe::No));
    assert_eq!(line.send(ToServer, &[(OneRtt, &[ack(0), ContentFrame::Ping])]).probe, Probe::Number(1));
    let frames = vec![ContentFrame::Ping, ContentFrame::Padding];
    let packets = vec![ContentPacket { form: OneRtt, number: Some(9), is_read: true, frames }];
    for length in [1400, 1400, 1200] {
        let reading =
            Reading { packets: packets.clone(), is_whole: true, length, acknowledged: Vec::new(), control: Vec::new() };
        let content = line.connection.on_sent(ToServer, 1, reading);
        let expected = if length == 1400 { Probe::No } else { Probe::Number(2) };
        assert_eq!((content.flight, content.probe), (Flight::Repeat, expected), "{length}");
    }
}

#[test]
fn a_datagram_that_cannot_be_read_is_part_of_a_flight_only_where_the_rest_of_it_says_so() {
    let mut line = Line::default();
    line.send(ToServer, &[(Initial, &[crypto(0, 300)])]);
    let hidden = ContentPacket { form: Handshake, number: None, is_read: false, frames: Vec::new() };
    let read = ContentPacket { form: Initial, number: Some(0), is_read: true, frames: vec![crypto(0, 90)] };
    for expected in [Flight::Part { number: 1, datagram: 1 }, Flight::Unknown] {
        let reading = Reading {
            packets: vec![read.clone(), hidden.clone()],
            is_whole: true,
            length: 1200,
            acknowledged: Vec::new(),
            control: Vec::new(),
        };
        assert_eq!(line.connection.on_sent(ToClient, 1, reading).flight, expected);
    }
}

#[test]
fn streams_and_packets_beyond_the_bounds_count_as_new() {
    let mut line = Line::default();
    for id in 0..MAXIMUM_STREAMS as u64 + 1 {
        let data = ContentFrame::Stream { id, offset: 0, length: 1, fin: true };
        line.lose(ToServer, &[(OneRtt, &[data])]);
    }
    let sender = &line.connection.senders[1];
    assert_eq!((sender.sent.len(), sender.unacknowledged[2].len()), (MAXIMUM_STREAMS, MAXIMUM_UNACKNOWLEDGED));
    let again = |line: &mut Line, id| {
        line.lose(ToServer, &[(OneRtt, &[ContentFrame::Stream { id, offset: 0, length: 1, fin: true }])]).flight
    };
    assert_eq!(again(&mut line, 1), Flight::Repeat);
    assert!(matches!(again(&mut line, MAXIMUM_STREAMS as u64), Flight::Part { .. }));
}
