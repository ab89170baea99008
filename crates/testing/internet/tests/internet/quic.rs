//! Handshakes with real servers, and what a real client makes of hosts that have none.

use std::time::{Duration, Instant};

use quiclab_internet::{Behaviour, Description, Host, Internet, Rubbish};
use quinn::ConnectionError;

use crate::{
    Case,
    stack::{Manner, Server, client_endpoint, handshake, runtime},
    support::{description, host, millis, serve},
};

pub const CASES: &[Case] = &[
    ("a_handshake_takes_the_round_trips_it_needs", a_handshake_takes_the_round_trips_it_needs),
    ("clients_say_what_a_host_without_tls_did", clients_say_what_a_host_without_tls_did),
    ("a_server_behind_odd_hosts_completes_handshakes", a_server_behind_odd_hosts_completes_handshakes),
];

/// Handshakes of each measurement, at least.
const ROUNDS: usize = 5;
/// The same, at most: as many as it takes until this machine does nothing else during one.
const MOST_ROUNDS: usize = 100;
/// Round-trip time of the path. Round trips come in whole numbers, so a handshake that takes less than another one took no other one.
const RTT: Duration = Duration::from_millis(100);

fn with_servers(hosts: Vec<Host>, servers: &[(&str, &Server)]) -> Description {
    let mut one = description(hosts);
    one.servers.extend(servers.iter().map(|(name, server)| quiclab_internet::Server {
        name: (*name).to_owned(),
        address: server.address,
        instant_ack: Some(false),
    }));
    one
}

fn a_handshake_takes_the_round_trips_it_needs() {
    let plain = Server::start(Manner::default());
    let late = Server::start(Manner { certificate_delay: Duration::from_millis(250), ..Manner::default() });
    let large = Server::start(Manner { certificate_bytes: 6000, ..Manner::default() });
    let retry = Server::start(Manner { sends_retry: true, ..Manner::default() });
    let hosts = vec![
        host("100.64.0.1", 100, serve("plain")),
        host("2001:db8:64::1", 100, serve("plain")),
        host("100.64.0.2", 100, serve("late")),
        host("100.64.0.3", 100, serve("large")),
        host("100.64.0.4", 100, serve("retry")),
    ];
    let servers = [("plain", &plain), ("late", &late), ("large", &large), ("retry", &retry)];
    let internet = Internet::start(&with_servers(hosts, &servers)).unwrap();
    runtime(1).block_on(async {
        let endpoint = client_endpoint();
        // A first flight beyond three times the client's waits for another of it: RFC 9000 section 8.1.
        for (address, server, expected) in [
            ("100.64.0.1", &plain, 100),
            ("2001:db8:64::1", &plain, 100),
            ("100.64.0.2", &late, 350),
            ("100.64.0.3", &large, 200),
            ("100.64.0.4", &retry, 200),
        ] {
            let expected = Duration::from_millis(expected);
            let mut took = Vec::new();
            while took.len() < ROUNDS || took.len() < MOST_ROUNDS && took.iter().all(|time| *time > expected + RTT) {
                let (connection, time) = handshake(&endpoint, server.client_config(), address).await;
                connection.unwrap().close(0_u32.into(), b"");
                took.push(time);
            }
            took.sort();
            println!("{address}: {took:?}");
            assert!(took[0] > expected && took[0] < expected + RTT, "{address}: {took:?}");
        }
    });
    let truth = internet.stop().unwrap();
    println!("{:?} {:?}", truth.counters, truth.lateness);
    assert_eq!(truth.counters.not_taken + truth.counters.too_long, 0);
}

fn clients_say_what_a_host_without_tls_did() {
    let plain = Server::start(Manner::default());
    let hosts = vec![
        host("100.64.0.1", 5, Behaviour::CloseAtOnce { code: 0x128, reason: "no such name".to_owned() }),
        host("100.64.0.2", 5, Behaviour::VersionNegotiation { versions: vec![0x0a1a_2a3a], server: None }),
        host("100.64.0.3", 5, Behaviour::Rubbish(Rubbish::UnknownFrame)),
        host("100.64.0.4", 5, Behaviour::Rubbish(Rubbish::Crypto)),
        host("100.64.0.5", 5, Behaviour::Rubbish(Rubbish::FarCrypto)),
        host("2001:db8:64::6", 5, Behaviour::AckOnly),
        host("100.64.0.7", 5, Behaviour::RetryForEver),
        host("100.64.0.8", 5, Behaviour::Flood { interval: millis(1), lasting: millis(500) }),
        host("100.64.0.9", 5, Behaviour::Rubbish(Rubbish::WrongConnectionId)),
    ];
    let addresses: Vec<_> = hosts.iter().map(|host| host.address.to_string()).collect();
    let internet = Internet::start(&with_servers(hosts, &[("plain", &plain)])).unwrap();
    let results = runtime(1).block_on(async {
        let endpoint = client_endpoint();
        let tasks: Vec<_> = addresses
            .into_iter()
            .map(|address| {
                let (endpoint, config) = (endpoint.clone(), plain.client_config());
                tokio::spawn(async move {
                    let (result, took) = handshake(&endpoint, config, &address).await;
                    (result.map(drop).unwrap_err(), took)
                })
            })
            .collect();
        let mut results = Vec::new();
        for task in tasks {
            results.push(task.await.unwrap());
        }
        results
    });
    println!("{results:#?}");
    let errors: Vec<_> = results.iter().map(|(error, _)| error).collect();
    match errors[0] {
        ConnectionError::ConnectionClosed(close) => {
            assert_eq!((u64::from(close.error_code), &close.reason[..]), (0x128, &b"no such name"[..]));
        }
        other => panic!("{other}"),
    }
    assert!(matches!(errors[1], ConnectionError::VersionMismatch));
    for error in &errors[2..5] {
        // What the client itself says of packets that it could open.
        assert!(matches!(error, ConnectionError::TransportError(_)), "{error}");
    }
    for error in &errors[5..] {
        assert!(matches!(error, ConnectionError::TimedOut), "{error}");
    }
    let truth = internet.stop().unwrap();
    // An acknowledged client has an RTT sample, so it asks again soon, and gets more acknowledgments.
    let acked = truth.flows.iter().find(|flow| flow.behaviour == "ack_only").unwrap();
    assert!(acked.datagrams_to_host > 1 && acked.bytes_to_client < 100 * acked.datagrams_to_client, "{acked:?}");
}

fn a_server_behind_odd_hosts_completes_handshakes() {
    let plain = Server::start(Manner { certificate_bytes: 3000, ..Manner::default() });
    let server = || "plain".to_owned();
    let hosts = vec![
        host("100.64.0.1", 5, Behaviour::Amplifier { server: server(), percent: 310 }),
        host("100.64.0.2", 5, Behaviour::Trickle { server: server(), gap: millis(50) }),
        host("100.64.0.3", 5, Behaviour::VersionNegotiation { versions: vec![1], server: Some(server()) }),
    ];
    let internet = Internet::start(&with_servers(hosts, &[("plain", &plain)])).unwrap();
    runtime(1).block_on(async {
        let endpoint = client_endpoint();
        for (address, least_ms) in [("100.64.0.1", 5), ("100.64.0.2", 105), ("100.64.0.3", 5)] {
            let began = Instant::now();
            let (connection, _) = handshake(&endpoint, plain.client_config(), address).await;
            connection.unwrap().close(0_u32.into(), b"");
            println!("{address}: {:?}", began.elapsed());
            assert!(began.elapsed() > Duration::from_millis(least_ms));
        }
    });
    let truth = internet.stop().unwrap();
    let amplified = truth.flows.iter().find(|flow| flow.behaviour == "amplifier").unwrap();
    // Before the client's second datagram reached the host.
    let second = amplified.to_host.get(1).unwrap().at_host_ns;
    let first_flight: u64 = amplified
        .to_client
        .iter()
        .filter(|passed| passed.at_host_ns < second)
        .map(|passed| u64::from(passed.bytes))
        .sum();
    let asked = u64::from(amplified.to_host[0].bytes);
    assert!(first_flight * 10 > asked * 31, "{first_flight} of {asked}");
}
