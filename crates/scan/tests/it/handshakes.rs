//! Handshakes with servers on the loopback interface, of which the truth is known.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::common::{Behaviour, Server};
use quiclab_metrics::FirstAnswer;
use quiclab_scan::{Answer, HttpSettings, KeptPacket, KeyShareGroup, Outcome, Request, ScanSettings, Scanner};
use quiclab_testing::{Wakings, skip};

/// Ends a scan that hangs; it measures nothing.
const HANG: Duration = Duration::from_secs(300);

fn request(id: u64, address: SocketAddr) -> Request {
    Request { id, address, server_name: Some("test.example".into()), keeps_packets: false }
}

/// Settings for handshakes that an answer ends, however late it is.
fn patient() -> ScanSettings {
    ScanSettings { timeout: HANG, ..ScanSettings::default() }
}

/// Asks for all of them as soon as there is room.
fn scan(settings: &ScanSettings, requests: impl IntoIterator<Item = Request>) -> BTreeMap<u64, Answer> {
    let mut scanner = Scanner::new(settings).expect("a scanner");
    let mut requests = requests.into_iter().peekable();
    let mut answers = BTreeMap::new();
    let begin = Instant::now();
    while requests.peek().is_some() || scanner.in_flight() > 0 {
        while let Some(request) = requests.next_if(|_| scanner.has_room()) {
            scanner.ask(request);
        }
        let mut on_answer = |answer: Answer| {
            assert!(answers.insert(answer.id, answer).is_none(), "one answer for each request");
        };
        scanner.turn(Duration::from_millis(100), &mut on_answer).expect("a turn");
        assert!(begin.elapsed() < HANG, "hung: five minutes, and {} in flight", scanner.in_flight());
    }
    scanner.turn(Duration::ZERO, &mut |answer| _ = answers.insert(answer.id, answer)).expect("a turn");
    answers
}

fn one(settings: &ScanSettings, request: Request) -> Answer {
    scan(settings, [request]).into_values().next().expect("an answer")
}

#[test]
fn thousands_of_handshakes_complete() {
    const COUNT: u64 = 2_000;
    let server = Server::start(Behaviour::default());
    let settings = ScanSettings { most_in_flight: 100, sockets: 3, ..patient() };
    let answers = scan(&settings, (0..COUNT).map(|id| request(id, server.address)));
    assert_eq!(answers.len() as u64, COUNT);
    for answer in answers.values() {
        assert_eq!(answer.outcome, Outcome::Completed, "{answer:?}");
        assert!(answer.handshake_ns.is_some_and(|time| time > 0), "{answer:?}");
        assert_eq!(answer.application_protocol.as_deref(), Some("h3"));
        assert_eq!(answer.detail, None, "{answer:?}");
        let class = answer.class.as_ref().expect("it was answered");
        assert_eq!(class.first_answer, Some(FirstAnswer::Coalesced), "{class:?}");
        assert!(class.is_complete && class.unread.is_empty(), "{class:?}");
        assert_eq!(class.version, Some(1));
        // The server's CRYPTO data came with the first answer, and the handshake completed with it or after it.
        assert_eq!((class.first_ack_ns, class.ack_to_hello_ns), (class.server_hello_ns, Some(0)), "{class:?}");
        assert!(class.server_hello_ns <= answer.handshake_ns, "{answer:?}");
        assert!(class.certificate_bytes.is_some_and(|bytes| bytes > 300), "read with the key log: {class:?}");
        assert!(class.transport_parameters.is_some(), "{class:?}");
    }
    assert_eq!(server.handshakes(), COUNT);
}

#[test]
fn a_response_to_a_head_request_is_read() {
    let server = Server::start(Behaviour { speaks_http3: true, ..Behaviour::default() });
    let http = HttpSettings { headers: vec!["cf-ray".into()], ..HttpSettings::default() };
    let settings = ScanSettings { http: Some(http), ..patient() };
    let answers = scan(&settings, (0..50).map(|id| request(id, server.address)));
    for answer in answers.values() {
        let http = answer.http.as_ref().unwrap_or_else(|| panic!("{answer:?}"));
        assert_eq!((http.status, http.server.as_deref()), (200, Some("test")));
        assert_eq!(http.headers, [("cf-ray".to_owned(), "1-FRA".to_owned())]);
    }
}

#[test]
fn of_a_long_field_the_beginning_is_kept_and_the_answer_says_so() {
    let server = Server::start(Behaviour { speaks_http3: true, alt_svc_bytes: 30_000, ..Behaviour::default() });
    let settings = ScanSettings { http: Some(HttpSettings::default()), ..patient() };
    let answer = one(&settings, request(1, server.address));
    assert_eq!(answer.outcome, Outcome::Completed, "{answer:?}");
    assert_eq!(answer.http.and_then(|http| http.alt_svc), Some("x".repeat(1024)));
    let detail = answer.detail.expect("a note");
    assert!(detail.contains("only the beginning was kept of alt-svc (1024 of 30000 bytes)"), "{detail}");
}

#[test]
fn a_server_without_http_is_completed_with_a_reason() {
    let server = Server::start(Behaviour::default());
    // Much longer than a handshake takes here and now, which is over before the timeout then.
    let handshake = one(&patient(), request(1, server.address)).handshake_ns.expect("it completes");
    let timeout = Duration::from_millis(300).max(Duration::from_nanos(20 * handshake));
    let settings = ScanSettings { http: Some(HttpSettings::default()), timeout, ..ScanSettings::default() };
    let answer = one(&settings, request(1, server.address));
    assert_eq!((answer.outcome, answer.http), (Outcome::Completed, None));
    assert_eq!(answer.detail.as_deref(), Some("no HTTP response in time"));
}

#[test]
fn a_certificate_that_nobody_signed_is_untrusted_where_that_is_checked() {
    let server = Server::start(Behaviour::default());
    let settings = ScanSettings { verify: true, ..patient() };
    if Scanner::new(&settings).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return skip("this system has no root certificates (apt-get install ca-certificates)");
    }
    let answer = one(&settings, request(1, server.address));
    assert_eq!((answer.outcome, answer.handshake_ns), (Outcome::Untrusted, None), "{:?}", answer.detail);
    assert!(answer.class.is_some_and(|class| class.certificate_bytes.is_some()));
}

#[test]
fn a_server_that_closes_behind_its_response_is_read() {
    let server = Server::start(Behaviour { speaks_http3: true, closes: true, ..Behaviour::default() });
    let settings = ScanSettings { http: Some(HttpSettings::default()), ..patient() };
    let answer = one(&settings, request(1, server.address));
    assert_eq!((answer.outcome, answer.http.map(|http| http.status)), (Outcome::Completed, Some(200)));
}

#[test]
fn a_handshake_after_a_retry_completes() {
    // RFC 9000 section 8.1.2.
    let server = Server::start(Behaviour { retries: true, ..Behaviour::default() });
    let answer = one(&patient(), request(1, server.address));
    assert_eq!(answer.outcome, Outcome::Completed, "{answer:?}");
    assert!(answer.class.is_some_and(|class| class.has_retry));
}

#[test]
fn a_silent_address_is_silent_and_takes_the_timeout() {
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let settings = ScanSettings { timeout: Duration::from_millis(1_300), ..ScanSettings::default() };
    let begin = Instant::now();
    let answer = one(&settings, Request { keeps_packets: true, ..request(1, silent.local_addr().expect("bound")) });
    assert_eq!((answer.outcome, answer.detail.as_deref()), (Outcome::Silent, None));
    // Not early. How late is up to the machine; in virtual time a test of the engine knows it to the millisecond.
    assert!(begin.elapsed() >= settings.timeout);
    assert_eq!(answer.packets.len(), 3, "the first flight and two probes");
    assert!(answer.packets.iter().all(|packet| packet.is_sent && packet.bytes.len() == 1200));
    let gap = answer.packets[1].time_ns - answer.packets[0].time_ns;
    assert!(gap >= 998_000_000, "{gap}");
    assert_eq!(answer.started, answer.packets[0].time_ns);
}

#[test]
fn closed_ports_are_refused_and_do_not_disturb_the_others() {
    let closed = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    let open = Server::start(Behaviour::default());
    // Those in between must not have the errors of others. One that waited for its timeout would be silent.
    let requests = (0..100).map(|id| request(id, if id % 2 == 0 { closed } else { open.address }));
    let answers = scan(&patient(), requests);
    for (id, answer) in &answers {
        let expected = if id % 2 == 0 { Outcome::Refused } else { Outcome::Completed };
        assert_eq!(answer.outcome, expected, "{answer:?}");
    }
}

#[test]
fn an_error_of_one_target_is_not_that_of_the_next() {
    let closed = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
    let server = Server::start(Behaviour::default());
    let mut scanner = Scanner::new(&patient()).expect("a scanner");
    let mut outcomes = Vec::new();
    for (id, address) in [(1, closed), (2, server.address), (3, closed), (4, server.address)] {
        scanner.ask(request(id, address));
        scanner.turn(Duration::ZERO, &mut |answer| outcomes.push((answer.id, answer.outcome))).expect("a turn");
    }
    while scanner.in_flight() > 0 {
        let mut on_answer = |answer: Answer| outcomes.push((answer.id, answer.outcome));
        scanner.turn(Duration::from_millis(50), &mut on_answer).expect("a turn");
    }
    outcomes.sort_unstable();
    let [refused, completed] = [Outcome::Refused, Outcome::Completed];
    assert_eq!(outcomes, [(1, refused), (2, completed), (3, refused), (4, completed)]);
}

#[test]
fn packets_and_keys_are_kept_where_they_are_asked_for() {
    let server = Server::start(Behaviour::default());
    let answer = one(&patient(), Request { keeps_packets: true, ..request(1, server.address) });
    assert!(answer.packets.iter().any(|packet| packet.is_sent) && answer.packets.iter().any(|packet| !packet.is_sent));
    assert!(answer.packets.is_sorted_by_key(|packet| packet.time_ns));
    assert!(answer.key_log.iter().any(|line| line.starts_with("SERVER_HANDSHAKE_TRAFFIC_SECRET ")), "{answer:?}");
    assert_eq!(answer.local.map(|local| local.ip().to_string()).as_deref(), Some("127.0.0.1"));
    let received: usize = answer.packets.iter().filter(|packet| !packet.is_sent).map(|packet| packet.bytes.len()).sum();
    assert_eq!(answer.received_bytes, received as u64);
}

#[test]
fn what_cannot_be_asked_is_not_sent() {
    let server = Server::start(Behaviour::default());
    let answer = one(&patient(), Request { server_name: Some("a b".into()), ..request(1, server.address) });
    assert_eq!(answer.outcome, Outcome::NotSent, "{answer:?}");
    assert!(answer.detail.is_some());
    let broadcast = "255.255.255.255:443".parse().expect("an address");
    let answer = one(&patient(), request(1, broadcast));
    assert_eq!(answer.outcome, Outcome::NotSent, "{answer:?}");
}

#[test]
fn without_a_name_the_address_is_asked() {
    let server = Server::start(Behaviour::default());
    let answer = one(&patient(), Request { server_name: None, ..request(1, server.address) });
    assert_eq!(answer.outcome, Outcome::Completed, "{answer:?}");
}

#[test]
fn a_version_that_nobody_speaks_is_answered_with_those_of_the_server() {
    // RFC 9000 section 6.1.
    let server = Server::start(Behaviour::default());
    let settings = ScanSettings { version: 0x1a2a_3a4a, ..patient() };
    let answer = one(&settings, request(1, server.address));
    assert_eq!(answer.outcome, Outcome::VersionNegotiation, "{answer:?}");
    let class = answer.class.expect("it was answered");
    assert_eq!(class.first_answer, Some(FirstAnswer::VersionNegotiation));
    assert!(class.offered_versions.contains(&1), "{class:?}");
}

#[test]
fn datagrams_are_as_large_as_asked_for() {
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let mut settings = ScanSettings { timeout: Duration::from_millis(50), ..ScanSettings::default() };
    for bytes in [1200, 1252, 1452] {
        settings.hello.datagram_bytes = bytes;
        let answer = one(&settings, Request { keeps_packets: true, ..request(1, silent.local_addr().expect("bound")) });
        assert!(answer.packets.iter().all(|packet| packet.bytes.len() == usize::from(bytes)), "{bytes}");
        assert!(!answer.packets.is_empty());
    }
    for bytes in [1199, 1453] {
        settings.hello.datagram_bytes = bytes;
        assert!(Scanner::new(&settings).is_err(), "{bytes}");
    }
}

/// The ClientHello does not fit into one datagram. The server has only the part of it that is X25519.
#[test]
fn a_client_hello_of_two_datagrams_completes() {
    let server = Server::start(Behaviour::default());
    let mut settings = patient();
    settings.hello.key_share_groups = vec![KeyShareGroup::X25519MlKem768, KeyShareGroup::X25519];
    let answer = one(&settings, Request { keeps_packets: true, ..request(1, server.address) });
    assert_eq!(answer.outcome, Outcome::Completed, "{:?}", answer.detail);
    let sent: Vec<usize> = answer.packets.iter().filter(|it| it.is_sent).map(|packet| packet.bytes.len()).collect();
    assert_eq!(sent[..2], [1200, 1200]);
    assert_eq!(answer.class.and_then(|class| class.application_protocol).as_deref(), Some("h3"));
}

#[test]
fn a_closed_port_of_ipv6_is_refused() {
    let Ok(closed) = UdpSocket::bind("[::1]:0").and_then(|socket| socket.local_addr()) else {
        return skip("this host has no IPv6");
    };
    assert_eq!(one(&patient(), request(1, closed)).outcome, Outcome::Refused);
}

/// Each datagram of a burst has the time at which it arrived elsewhere on this host.
#[test]
fn times_of_sent_datagrams_are_those_of_the_wire() {
    const COUNT: u64 = 500;
    let wakings = Wakings::watch();
    let server = Server::start(Behaviour { keeps_times: true, ..Behaviour::default() });
    let settings = ScanSettings { waits_for_confirmation: false, ..patient() };
    let answers = scan(&settings, (0..COUNT).map(|id| Request { keeps_packets: true, ..request(id, server.address) }));
    let arrived = server.arrival_times();
    // The server's socket has no room for all of them.
    let first = answers.values().map(|answer| &answer.packets[0]);
    let difference = |packet: &KeptPacket| Some(*arrived.get(&packet.bytes)? as i64 - packet.time_ns as i64);
    let mut differences: Vec<i64> = first.filter_map(difference).collect();
    assert!(differences.len() >= 50, "{}", differences.len());
    differences.sort_unstable();
    let at = |share: f64| differences[(share * (differences.len() - 1) as f64) as usize];
    println!("from sent to arrived: {} ns, {} ns, {} ns (1st, 50th, 99th percentile)", at(0.01), at(0.5), at(0.99));
    // The packet's way through the kernel, most often; rarely, that the thread of the kernel that receives it waited for a CPU.
    assert!(at(0.5).abs() < 50_000, "{differences:?}");
    let late = wakings.delays();
    let late_ns = late[late.len() * 95 / 100].as_nanos() as i64;
    assert!(at(0.95).abs() < 50_000 + late_ns, "woken {late_ns} ns late: {differences:?}");
}
