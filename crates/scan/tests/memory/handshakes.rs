//! What a handshake in flight takes beside the stack's own state.

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::ALLOCATOR;
use crate::common::client::{ACK, Client};
use quiclab_scan::{Outcome, Request, ScanSettings, Scanner};
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{ClientConfig, Connection, Endpoint, EndpointConfig};

const COUNT: usize = 10_000;
const ACKNOWLEDGED: usize = 1_000;
/// A requirement of the scanner.
const MOST_BYTES: usize = 2 << 10;

fn address(index: usize, port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, (index >> 8) as u8, index as u8], port))
}

/// Configures the stack as the scanner does, except that a certificate would be checked, which nobody sends here.
fn configuration() -> ClientConfig {
    let certificate = rcgen::generate_simple_self_signed(vec!["root.example".into()]).expect("a certificate");
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.cert.der().clone()).expect("a root");
    let ring = rustls::crypto::ring::default_provider();
    let kx_groups = ring.kx_groups.iter().copied().take(2).collect();
    let provider = Arc::new(rustls::crypto::CryptoProvider { kx_groups, ..ring });
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    tls.resumption = rustls::client::Resumption::disabled();
    let mut transport = quinn_proto::TransportConfig::default();
    transport.mtu_discovery_config(None).enable_segmentation_offload(false).datagram_receive_buffer_size(None);
    // The stack has room for each stream that the server may open.
    transport.max_concurrent_bidi_streams(0u32.into()).max_concurrent_uni_streams(16u32.into());
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).expect("a QUIC suite")));
    config.transport_config(Arc::new(transport));
    config
}

/// Bytes of as many connections of the stack alone that have sent their first flight, and then the first probes.
fn stack_alone() -> [usize; 2] {
    let config = configuration();
    let before = ALLOCATOR.current_usage();
    let mut endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), None, false, None);
    let now = Instant::now();
    let mut connections: Vec<Connection> = (0..COUNT)
        .map(|index| endpoint.connect(now, config.clone(), address(index, 443), "test.example").expect("connects").1)
        .collect();
    [0, 1_100].map(|later_ms| {
        let later = now + Duration::from_millis(later_ms);
        let mut bytes = Vec::new();
        for connection in &mut connections {
            connection.handle_timeout(later);
            while connection.poll_transmit(later, 1, &mut bytes).is_some() {
                bytes.clear();
            }
        }
        drop(bytes);
        ALLOCATOR.current_usage() - before
    })
}

/// One after the other, because they share the allocator.
#[test]
fn ten_thousand_handshakes_in_flight() {
    if !quiclab_testing::has_own_process() {
        return;
    }
    silent_targets_take_2_kib_each_beside_the_stack();
    acknowledged_handshakes();
}

/// Acknowledges each client once and says no more.
fn acknowledge(socket: &UdpSocket) {
    let mut buffer = [0; 2048];
    let mut known = BTreeSet::new();
    while known.len() < ACKNOWLEDGED {
        let (length, source) = socket.recv_from(&mut buffer).expect("a datagram");
        let client = Client::new(source, &buffer[..length]);
        if known.insert(client.source.clone()) {
            socket.send_to(&client.initial(0, &ACK, 64), source).expect("sent");
        }
    }
}

/// Reported, not required: a server that answers does so completely, or its handshake ends soon.
fn acknowledged_handshakes() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = socket.local_addr().expect("bound");
    let listener = socket.try_clone().expect("another handle");
    let thread = std::thread::spawn(move || acknowledge(&listener));
    let settings =
        ScanSettings { timeout: Duration::from_secs(120), most_in_flight: ACKNOWLEDGED, ..ScanSettings::default() };
    let before = ALLOCATOR.current_usage();
    let mut scanner = Scanner::new(&settings).expect("a scanner");
    for id in 0..ACKNOWLEDGED as u64 {
        scanner.ask(Request { id, address, server_name: Some("test.example".into()), keeps_packets: false });
        if id % 20 == 0 {
            scanner.turn(Duration::ZERO, &mut |answer| panic!("{answer:?}")).expect("a turn");
        }
    }
    while !thread.is_finished() {
        scanner.turn(Duration::from_millis(10), &mut |answer| panic!("{answer:?}")).expect("a turn");
    }
    thread.join().expect("it did not panic");
    scanner.turn(Duration::from_millis(10), &mut |answer| panic!("{answer:?}")).expect("a turn");
    println!("acknowledged: {} bytes for each", (ALLOCATOR.current_usage() - before) / ACKNOWLEDGED);
    assert_eq!(scanner.in_flight(), ACKNOWLEDGED);
    drop(socket);
}

fn silent_targets_take_2_kib_each_beside_the_stack() {
    let alone = stack_alone();
    let silent = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    let port = silent.local_addr().expect("bound").port();
    let settings = ScanSettings { timeout: Duration::from_secs(120), most_in_flight: COUNT, ..ScanSettings::default() };
    let before = ALLOCATOR.current_usage();
    let mut scanner = Scanner::new(&settings).expect("a scanner");
    let turn = |scanner: &mut Scanner, wait| {
        scanner.turn(wait, &mut |answer| panic!("{:?}", answer.outcome)).expect("a turn");
    };
    let mut largest = 0;
    let mut measure = |when: &str, alone: usize| {
        let all = ALLOCATOR.current_usage() - before;
        let each = all.saturating_sub(alone) / COUNT;
        println!("{when}: {} bytes for each, of which the stack has {}", all / COUNT, alone / COUNT);
        assert!(each > 200, "a handshake takes something: {each}");
        largest = largest.max(each);
    };
    for index in 0..COUNT {
        assert!(scanner.has_room());
        let (id, address) = (index as u64, address(index, port));
        scanner.ask(Request { id, address, server_name: Some("test.example".into()), keeps_packets: false });
        if index % 100 == 0 {
            turn(&mut scanner, Duration::ZERO);
        }
    }
    assert!(!scanner.has_room());
    turn(&mut scanner, Duration::ZERO);
    measure("after the first flight", alone[0]);
    while scanner.counters().sent_datagrams < 3 * COUNT as u64 {
        turn(&mut scanner, Duration::from_millis(100));
    }
    measure("after the first probes", alone[1]);
    while scanner.counters().sent_datagrams < 5 * COUNT as u64 {
        turn(&mut scanner, Duration::from_millis(100));
    }
    measure("after the second probes", alone[1]);
    assert_eq!(scanner.in_flight(), COUNT);
    assert!(largest <= MOST_BYTES, "{largest}");
    // One more is too many.
    scanner.ask(Request { id: 0, address: address(0, port), server_name: None, keeps_packets: false });
    let mut outcome = None;
    scanner.turn(Duration::ZERO, &mut |answer| outcome = Some(answer.outcome)).expect("a turn");
    assert_eq!(outcome, Some(Outcome::NotSent));
}
