//! Probes, and what they repeat.

use super::*;

fn of_server(all: &[Flying]) -> (Option<u64>, Option<u64>) {
    let metrics = both(all).metrics;
    (metrics.handshake_server_probes, metrics.handshake_server_spurious_retransmissions)
}

/// The rest of the server's flight is lost, as in figure 6 of the study; its timeout expires 27 ms after the client's answer.
fn flight(rest: Vec<Flying>) -> Vec<Flying> {
    let mut all = vec![
        flying(Client, 0, 1200, || vec![packet(Initial, 0, vec![crypto(0, 500)])]),
        flying(Server, 5_000, 1200, || {
            vec![packet(Initial, 0, vec![ack(0, 0, 0), crypto(0, 90)]), packet(Handshake, 0, vec![crypto(0, 1000)])]
        }),
        lost(flying(Server, 5_100, 600, || vec![packet(Handshake, 1, vec![crypto(1000, 500)])])),
        flying(Client, 10_000, 1200, || {
            vec![packet(Initial, 1, vec![ack(0, 0, 0)]), packet(Handshake, 0, vec![ack(0, 0, 0)])]
        }),
    ];
    all.extend(rest);
    all
}

#[test]
fn the_second_of_two_probes_for_what_was_lost_is_not_spurious() {
    let first = || flying(Server, 42_000, 600, || vec![packet(Handshake, 2, vec![crypto(1000, 500)])]);
    let second = |time| flying(Server, time, 600, || vec![packet(Handshake, 3, vec![crypto(1000, 500)])]);
    assert_eq!(of_server(&flight(vec![first(), second(42_000)])), (Some(2), Some(0)));
    assert_eq!(of_server(&flight(vec![first(), second(42_999)])), (Some(2), Some(0)));
    // The next timeout, and a third datagram on the same one.
    assert_eq!(of_server(&flight(vec![first(), second(43_000)])), (Some(2), Some(1)));
    let third = flying(Server, 42_002, 600, || vec![packet(Handshake, 4, vec![crypto(1000, 500)])]);
    assert_eq!(of_server(&flight(vec![first(), second(42_001), third])), (Some(3), Some(1)));
}

#[test]
fn what_is_repeated_beside_lost_data_is_not_spurious() {
    let whole = flying(Server, 42_000, 1200, || vec![packet(Handshake, 2, vec![crypto(900, 600)])]);
    assert_eq!(of_server(&flight(vec![whole])), (Some(1), Some(0)));
    let arrived = flying(Server, 42_000, 1200, || vec![packet(Handshake, 2, vec![crypto(0, 1000)])]);
    assert_eq!(of_server(&flight(vec![arrived])), (Some(1), Some(1)));
}

/// Two probes for data that had arrived: neither was necessary.
#[test]
fn both_probes_for_what_had_arrived_are_spurious() {
    let probe = |time| flying(Server, time, 1200, || vec![packet(Handshake, 2, vec![crypto(0, 1000)])]);
    assert_eq!(of_server(&flight(vec![probe(42_000), probe(42_000)])), (Some(2), Some(2)));
}

#[test]
fn a_ping_is_a_probe_also_where_a_loss_is_likely() {
    let rest = vec![
        // Acknowledged, though the packet before it is not.
        flying(Server, 20_000, 100, || vec![packet(Handshake, 2, vec![Frame::Ping])]),
        flying(Client, 25_000, 100, || vec![packet(Handshake, 1, vec![ack(2, 2, 0)])]),
        flying(Server, 42_000, 100, || vec![packet(Handshake, 3, vec![Frame::Ping])]),
        // Declared lost, and no probe.
        flying(Server, 42_000, 600, || vec![packet(Handshake, 4, vec![crypto(1000, 500)])]),
    ];
    assert_eq!(of_server(&flight(rest)), (Some(2), Some(0)));
}

/// The client's PTO of 27.6 ms expires before the ServerHello: it repeats the ClientHello, which had arrived.
#[test]
fn a_probe_for_what_had_arrived_is_spurious() {
    let mut all = handshake(true);
    all.insert(3, flying(Client, 27_700, 1200, || vec![packet(Initial, 9, vec![crypto(0, 1100)])]));
    for run in [both(&all), one(&all, Server), one(&all, Client)] {
        assert_eq!(run.metrics.handshake_client_probes, Some(1));
        assert_eq!(run.metrics.handshake_client_spurious_retransmissions, Some(1));
        assert_eq!(run.metrics.handshake_server_probes, Some(0));
    }
    // It had a sample by then.
    assert_eq!(both(&all).metrics.handshake_client_default_pto_ns, None);
}
