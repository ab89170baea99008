//! Judges of cases about the path: losses, marks, silence, other addresses.

use crate::common::{
    NO_KEYS, assert_cannot_be_judged, assert_fails, assert_passes, facts, read, remade, verdict, well,
};
use quiclab_interop::{CrossTrafficFacts, End, EndpointFacts, Facts, SenderFacts, Verdict, case_named, judge};
use quiclab_units::Duration;
use quiclab_wire::{Role, VERSION_2};

/// The client of this capture moved to another address by itself, and the server validated it.
#[test]
fn a_server_validates_the_new_address_of_a_client() {
    let moved = facts("migration");
    let [first, second] = &moved.connections[0].paths[..] else { panic!("{:?}", moved.connections[0].paths) };
    assert_eq!((first.server_begins_with_challenge, second.server_begins_with_challenge), (Some(false), Some(true)));
    assert!((1..=second.client_datagrams).contains(&second.client_datagrams_before_close));
    assert!(second.challenges_answered > 0 && second.client_begins_with_new_id == Some(true));
    assert_passes("rebind-port", &moved);
    let mut silent = moved.clone();
    silent.connections[0].paths[1].server_begins_with_challenge = Some(false);
    assert_fails("rebind-port", &silent, &["PATH_CHALLENGE", "section 9.3", "first datagram"]);
    // All that came from there was the end of the connection.
    silent.connections[0].paths[1].client_datagrams_before_close = 0;
    assert_fails("rebind-port", &silent, &["more than one port"]);
    let mut third = moved.connections[0].paths[1].clone();
    third.client.set_port(9);
    (third.client_datagrams_before_close, third.server_begins_with_challenge) = (0, Some(false));
    let mut closes = moved.clone();
    closes.connections[0].paths.push(third);
    assert_passes("rebind-port", &closes);
    let mut deaf = moved.clone();
    deaf.connections[0].paths[1].challenges_answered = 0;
    assert_fails("rebind-port", &deaf, &["PATH_RESPONSE", "found none"]);
    // It closed before the challenge could arrive: the path takes 15 ms each way.
    deaf.connections[0].paths[1].challenge_to_close = Some(Duration::from_millis(29));
    assert_passes("rebind-port", &deaf);
    deaf.connections[0].paths[1].challenge_to_close = Some(Duration::from_millis(31));
    assert_fails("rebind-port", &deaf, &["PATH_RESPONSE", "found none"]);
    let mut unmoved = moved.clone();
    unmoved.connections[0].paths.truncate(1);
    assert_fails("rebind-port", &unmoved, &["more than one port", "the transfer ended before"]);
    let mut elsewhere = moved.clone();
    elsewhere.connections[0].paths[1].client.set_ip("10.0.0.77".parse().unwrap());
    assert_passes("rebind-addr", &elsewhere);
    let own = moved.connections[0].paths[0].client.ip();
    elsewhere.connections[0].paths[1].client.set_ip(own);
    assert_fails("rebind-addr", &elsewhere, &["more than one address"]);
}

/// The same capture, with more datagrams than it has.
#[test]
fn a_client_that_moves_takes_a_new_connection_id_and_is_validated() {
    let mut moved = facts("migration");
    assert_fails("connectionmigration", &moved, &["at least 100 datagrams", "of 1 others"]);
    moved.connections[0].paths[1].server_datagrams = 100;
    assert_passes("connectionmigration", &moved);
    let mut known = moved.clone();
    known.connections[0].paths[1].client_begins_with_new_id = Some(false);
    assert_fails("connectionmigration", &known, &["new destination connection ID", "section 9.5"]);
    let mut deaf = moved.clone();
    deaf.connections[0].paths[1].challenges_answered = 0;
    assert_fails("connectionmigration", &deaf, &["expected the server to validate", "section 9.3"]);
    let mut preferred = moved.clone();
    let first = preferred.connections[0].paths[0].clone();
    let path = &mut preferred.connections[0].paths[1];
    (path.client, path.server) = (first.client, std::net::SocketAddr::new(first.server.ip(), 4434));
    path.challenges_answered = 0;
    (path.client_challenges, path.client_challenges_answered) = (1, 0);
    assert_fails("connectionmigration", &preferred, &["preferred address", "section 9.6.2", "found 1 PATH_CHALLENGE"]);
    preferred.connections[0].paths[1].client_challenges_answered = 1;
    assert_passes("connectionmigration", &preferred);
    preferred.connections[0].senders[Role::Server as usize].disables_active_migration = Some(true);
    assert_passes("connectionmigration", &preferred);
}

/// RFC 9000 section 18.2: a client must not move then. Whatever it did, the server is the one that does not support the case.
#[test]
fn a_server_that_forbids_migration_does_not_support_it() {
    let mut forbidden = facts("migration");
    forbidden.connections[0].senders[Role::Server as usize].disables_active_migration = Some(true);
    let ended = |status| EndpointFacts { client: End::Status(status), ..well() };
    for endpoints in [ended(0), ended(1), ended(127)] {
        let endpoints = EndpointFacts { files_ok: Err("one is missing".to_owned()), ..endpoints };
        let verdict = judge(case_named("connectionmigration").unwrap(), &forbidden, &endpoints);
        assert_eq!(verdict, Verdict::Unsupported { role: Role::Server });
    }
}

#[test]
fn a_transfer_beside_tcp_shares_the_link_with_it_most_of_the_time() {
    let mut alone = facts("ipv6");
    assert_eq!(alone.cross_traffic, None);
    assert_fails("crosstraffic", &alone, &["data of a TCP connection", "found it for 0 ms"]);
    let (first, last) = alone.connections[0].sent(Role::Server).one_rtt_times.unwrap();
    let after = |percent: u64| {
        quiclab_units::Time::from_nanos(first.as_nanos() + (last.as_nanos() - first.as_nanos()) * percent / 100)
    };
    let beside = |first, last| Some(CrossTrafficFacts { segments: 9, bytes: 9_000, first, last });
    alone.cross_traffic = beside(after(5), after(96));
    assert_passes("crosstraffic", &alone);
    alone.cross_traffic = beside(after(5), after(94));
    assert_fails("crosstraffic", &alone, &["at least 90 %"]);
    let tcp = facts("tcp-tls").cross_traffic.unwrap();
    assert!(tcp.segments > 1 && tcp.bytes > tcp.segments && tcp.last > tcp.first);
}

#[test]
fn challenges_cannot_be_seen_without_keys() {
    let facts = read(&remade("migration", NO_KEYS, |_| 1));
    assert_cannot_be_judged("rebind-port", &facts, &["more than one port", "could not be read"]);
}

#[test]
fn every_file_of_a_lossy_path_has_its_connection() {
    let one = facts("ipv6").connections.remove(0);
    let mut facts = Facts { connections: vec![one; 50], ..Facts::default() };
    for case in ["handshakeloss", "handshakecorruption"] {
        assert_passes(case, &facts);
    }
    facts.connections[7].completed = None;
    assert_fails("handshakeloss", &facts, &["handshake of connection 8 did not complete"]);
    facts.connections.remove(7);
    assert_fails("handshakeloss", &facts, &["expected 50 handshakes, found 49"]);
    facts.connections.push(facts.connections[0].clone());
    facts.connections[9].senders[Role::Server as usize].handshake_versions = [VERSION_2].into();
    assert_fails("handshakeloss", &facts, &["of connection 10"]);
}

#[test]
fn goodput_is_the_files_over_the_time_of_the_servers_one_rtt_packets() {
    let goodput = case_named("goodput").unwrap();
    let mut facts = facts("ipv6");
    assert_passes("goodput", &facts);
    let (first, last) = facts.connections[0].sent(Role::Server).one_rtt_times.unwrap();
    assert!(first > facts.connections[0].began && last > first);
    // 10 MiB in 8.5 s.
    let later = quiclab_units::Time::from_nanos(first.as_nanos() + 8_500_000_000);
    facts.connections[0].senders[Role::Server as usize].one_rtt_times = Some((first, later));
    assert_eq!(goodput.goodput_kbps(&facts), Some(9_868));
    assert_eq!(case_named("transfer").unwrap().goodput_kbps(&facts), None, "no measurement");
    facts.connections[0].senders[Role::Server as usize].one_rtt_times = Some((first, first));
    assert_eq!(goodput.goodput_kbps(&facts), None);
    facts.connections.push(facts.connections[0].clone());
    assert_eq!(goodput.goodput_kbps(&facts), None, "two connections");
}

#[test]
fn a_transfer_without_control_streams_is_no_http3() {
    let mut facts = facts("ipv6");
    assert_passes("http3", &facts);
    for sender in Role::BOTH {
        let mut without = facts.clone();
        without.connections[0].senders[sender as usize].unidirectional_streams = 0;
        assert_fails("http3", &without, &["control stream of the", sender.name(), "RFC 9114"]);
    }
    facts.connections.push(facts.connections[0].clone());
    assert_fails("http3", &facts, &["expected 1 handshake, found 2"]);
}

#[test]
fn a_blackhole_is_seen_as_two_seconds_of_silence() {
    let mut facts = facts("ipv6");
    facts.connections[0].senders[Role::Client as usize].longest_silence = Duration::from_millis(2_000);
    assert_passes("blackhole", &facts);
    facts.connections[0].senders[Role::Client as usize].longest_silence = Duration::from_millis(1_999);
    assert_fails("blackhole", &facts, &["no packet of the client arrived", "found 1999 ms"]);
}

/// Both ends of this capture mark, and report.
#[test]
fn both_ends_must_mark_and_report_marks() {
    // RFC 9000 sections 13.4 and 13.4.1.
    let used = facts("ipv6");
    assert_passes("ecn", &used);
    for sender in Role::BOTH {
        let of = |facts: &mut Facts, change: fn(&mut SenderFacts)| {
            change(&mut facts.connections[0].senders[sender as usize]);
        };
        let mut facts = used.clone();
        of(&mut facts, |sent| sent.ecn_datagrams = [50, 0, 0, 0]);
        assert_fails("ecn", &facts, &["ECT(0) or ECT(1)", sender.name(), "found neither"]);
        of(&mut facts, |sent| sent.ecn_datagrams = [49, 1, 0, 0]);
        assert_passes("ecn", &facts);
        of(&mut facts, |sent| sent.ecn_datagrams = [0, 0, 49, 1]);
        assert_fails("ecn", &facts, &[sender.name(), "congestion experienced", "found 1"]);
        let mut facts = used.clone();
        of(&mut facts, |sent| sent.acks_with_ecn_counts = 0);
        assert_fails("ecn", &facts, &["ECN counts", "13.4.1", sender.name(), "found none"]);
        of(&mut facts, |sent| sent.ecn_datagrams = [50, 0, 0, 0]);
        assert_eq!(verdict("ecn", &facts), Verdict::Unsupported { role: sender });
    }
}

/// Who reports marks is seen in ACK frames alone.
#[test]
fn whether_marks_were_reported_is_not_known_without_keys() {
    let mut facts = read(&remade("ipv6", NO_KEYS, |_| 1));
    // Those of Initial packets can be read.
    facts.connections[0].senders.iter_mut().for_each(|sent| sent.acks_with_ecn_counts = 0);
    assert_cannot_be_judged("ecn", &facts, &["ECN counts", "could not be read"]);
    facts.connections[0].senders[Role::Server as usize].ecn_datagrams = [50, 0, 0, 0];
    assert_fails("ecn", &facts, &["server", "found neither"]);
}
