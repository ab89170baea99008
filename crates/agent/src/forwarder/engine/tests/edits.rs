//! Frames whose bytes the path changes.

use std::net::SocketAddr;

use super::*;

const SECOND: u64 = 1_000_000;

fn rebind(address: bool) -> String {
    format!("stage = \"rebind\"\nname = \"rebind\"\nfirst = \"1 s\"\nevery = \"5 s\"\naddress = {address}\n")
}

/// A packet of the client, at 193.167.0.100:50000, to the server, or the other way round to this address of the client.
fn between(micros: u64, to: Direction, client: SocketAddr) -> Arrival {
    let server = "193.167.100.100:443".parse().unwrap();
    let mut one = arrival(micros, to, 1);
    let [source, destination] = if to == Direction::ToServer { [client, server] } else { [server, client] };
    one.frame.set_end(Side::Source, source);
    one.frame.set_end(Side::Destination, destination);
    one
}

fn client() -> SocketAddr {
    "193.167.0.100:50000".parse().unwrap()
}

/// Source and time of what arrives at the server.
fn sources(order: &Forwarder, micros: &[u64]) -> Vec<SocketAddr> {
    let arrivals = micros.iter().map(|micros| between(*micros, Direction::ToServer, client())).collect();
    let (memory, _, ended) = forwarded(order, Memory::default(), arrivals);
    ended.unwrap();
    memory.sent.borrow().iter().map(|(_, _, frame)| frame.end(Side::Source).unwrap()).collect()
}

#[test]
fn the_server_sees_another_port_after_each_change() {
    let stage = rebind(false);
    let order = order(&[&stage], &[&stage]);
    let found = sources(&order, &[1, SECOND - 1, SECOND, SECOND + 1, 6 * SECOND - 1, 6 * SECOND, 11 * SECOND]);
    assert_eq!(found[..2], [client(); 2]);
    assert!(found[2] == found[3] && found[3] == found[4]);
    let mut ports: Vec<_> = found.iter().map(SocketAddr::port).collect();
    ports.dedup();
    assert_eq!(ports.len(), 4, "{found:?}");
    assert!(found.iter().all(|one| one.ip() == client().ip()), "{found:?}");
}

#[test]
fn with_address_the_server_sees_another_address_too() {
    let stage = rebind(true);
    let found = sources(&order(&[&stage], &[&stage]), &[1, SECOND, 6 * SECOND]);
    assert_eq!(found[0], client());
    assert!(found[1].ip() != client().ip() && found[2].ip() != client().ip() && found[1].ip() != found[2].ip());
}

#[test]
fn what_the_server_sends_to_the_new_port_arrives_and_to_the_old_one_is_dropped() {
    let stage = rebind(true);
    let order = order(&[&stage], &[&stage]);
    let renewed = sources(&order, &[1, SECOND])[1];
    let arrivals = vec![
        between(1, Direction::ToServer, client()),
        between(2, Direction::ToClient, client()),
        between(SECOND, Direction::ToServer, client()),
        between(SECOND + 1, Direction::ToClient, renewed),
        between(SECOND + 2, Direction::ToClient, client()),
        between(6 * SECOND, Direction::ToClient, renewed),
    ];
    let (memory, report, ended) = forwarded(&order, Memory::default(), arrivals);
    ended.unwrap();
    let sent = memory.sent.borrow();
    let to_client: Vec<_> = sent.iter().filter(|(_, to, _)| *to == Direction::ToClient).collect();
    let destinations: Vec<_> = to_client.iter().map(|(_, _, frame)| frame.end(Side::Destination).unwrap()).collect();
    assert_eq!(destinations, [client(); 2]);
    assert_eq!(report.to_client[0].drops["rebound"], 2);
    let dropped: Vec<_> = report.drops.iter().map(|drop| (drop.time_ns / 1000, &*drop.cause)).collect();
    assert_eq!(dropped, [(SECOND + 2, "rebound"), (6 * SECOND, "rebound")]);
}

#[test]
fn a_corrupted_datagram_differs_in_one_byte_of_the_first_ones_and_its_checksum() {
    let stage = "stage = \"corrupt\"\nname = \"corrupt\"\nprobability = 1.0\nmost_in_a_row = 3\nfirst_bytes = 10\n";
    let arrivals = (0..400).map(|number| arrival(number, Direction::ToClient, 1)).collect();
    let (memory, report, ended) = forwarded(&order(&[stage], &[]), Memory::default(), arrivals);
    ended.unwrap();
    let mut whole = datagram(false, 2, 1);
    whole.set_end(Side::Source, whole.end(Side::Source).unwrap());
    let first = whole.bytes().len() - whole.bytes_to_corrupt().unwrap() as usize;
    let mut places = std::collections::BTreeSet::new();
    for (number, (_, _, frame)) in memory.sent.borrow().iter().enumerate() {
        if number % 4 == 3 {
            assert_eq!(*frame, datagram(false, 2, 1), "the fourth in a row is left alone");
            continue;
        }
        let changed: Vec<_> =
            (first..whole.bytes().len()).filter(|at| frame.bytes()[*at] != whole.bytes()[*at]).collect();
        assert_eq!(changed.len(), 1);
        assert_ne!(frame.bytes()[first - 2..first], whole.bytes()[first - 2..first], "the checksum");
        places.insert(changed[0] - first);
    }
    assert!(places.iter().copied().eq(0..10), "{places:?}");
    assert_eq!(report.to_client[0].counts["corrupted"], 300);
}
