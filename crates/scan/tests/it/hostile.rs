//! Servers that do what they should not: each must end in an outcome within the timeout.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::common::client::{ACK, Client};
use quiclab_metrics::FirstAnswer;
use quiclab_scan::{Answer, Outcome, Request, ScanCounters, ScanSettings, Scanner};

const TIMEOUT: Duration = Duration::from_millis(1_200);
/// Ends a scan that hangs; it measures nothing.
const HANG: Duration = Duration::from_secs(300);

/// A thread that is shown each datagram of a client, and once a millisecond nothing.
struct Hostile {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Hostile {
    fn start(mut act: impl FnMut(&UdpSocket, Option<(SocketAddr, &[u8])>) + Send + 'static) -> Hostile {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout");
        let address = socket.local_addr().expect("bound");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            while !stopped.load(Ordering::Relaxed) {
                match socket.recv_from(&mut buffer) {
                    Ok((length, source)) => act(&socket, Some((source, &buffer[..length]))),
                    Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                        act(&socket, None)
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        });
        Hostile { address, stop, thread: Some(thread) }
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("it runs").join().expect("it did not panic");
    }
}

/// Answers each datagram of the client by this function of how many there were before.
fn answering(mut answer: impl FnMut(&UdpSocket, &Client, u8) + Send + 'static) -> Hostile {
    let mut number = 0;
    Hostile::start(move |socket, datagram| {
        if let Some((address, bytes)) = datagram {
            answer(socket, &Client::new(address, bytes), number);
            number += 1;
        }
    })
}

/// Asks a server whose answers end the handshake, however late they are.
fn ask(server: SocketAddr) -> (Answer, ScanCounters) {
    ask_within(HANG, server)
}

fn ask_within(timeout: Duration, server: SocketAddr) -> (Answer, ScanCounters) {
    let settings = ScanSettings { timeout, ..ScanSettings::default() };
    let mut scanner = Scanner::new(&settings).expect("a scanner");
    scanner.ask(Request { id: 1, address: server, server_name: None, keeps_packets: false });
    let mut answers = Vec::new();
    let begin = Instant::now();
    while scanner.in_flight() > 0 {
        scanner.turn(Duration::from_millis(50), &mut |answer| answers.push(answer)).expect("a turn");
        assert!(begin.elapsed() < timeout.max(HANG) + HANG, "hung: no outcome minutes after the timeout");
    }
    assert_eq!(answers.len(), 1);
    (answers.remove(0), scanner.counters())
}

#[test]
fn bytes_that_are_no_packets_are_malformed() {
    let server = answering(|socket, client, _| {
        for length in [1, 7, 30, 1200] {
            _ = socket.send_to(&vec![0x5a; length], client.address);
            _ = socket.send_to(&vec![0xc5; length], client.address);
        }
    });
    let (answer, _) = ask_within(TIMEOUT, server.address);
    assert_eq!(answer.outcome, Outcome::Malformed, "{answer:?}");
    assert_eq!(answer.detail.as_deref(), Some("nothing of what the server sent could be read"));
}

#[test]
fn rubbish_in_place_of_a_server_hello_is_malformed() {
    let server = answering(|socket, client, number| {
        let mut frames = vec![0x06, 0, 0x20];
        frames.extend_from_slice(&[0xee; 0x20]);
        _ = socket.send_to(&client.initial(number, &frames, 1200), client.address);
    });
    let (answer, _) = ask(server.address);
    assert_eq!(answer.outcome, Outcome::Malformed, "{answer:?}");
    assert!(answer.detail.is_some());
}

#[test]
fn crypto_data_that_are_never_complete_time_out() {
    let server = answering(|socket, client, number| {
        // The beginning of a ServerHello of 200 bytes, which never goes on.
        let frames = [0x06, 0, 6, 2, 0, 0, 200, 3, 3];
        _ = socket.send_to(&client.initial(number, &frames, 1200), client.address);
    });
    assert_eq!(ask_within(TIMEOUT, server.address).0.outcome, Outcome::TimedOut);
}

#[test]
fn a_server_that_acknowledges_and_trickles_times_out() {
    let mut known = None;
    let mut number = 0u8;
    let server = Hostile::start(move |socket, datagram| {
        if let Some((address, bytes)) = datagram {
            known.get_or_insert_with(|| Client::new(address, bytes));
        }
        if let Some(client) = &known {
            std::thread::sleep(Duration::from_millis(20));
            _ = socket.send_to(&client.initial(number, &ACK, 64), client.address);
            number = number.saturating_add(1).min(200);
        }
    });
    let (answer, _) = ask_within(TIMEOUT, server.address);
    assert_eq!(answer.outcome, Outcome::TimedOut, "{answer:?}");
    assert_eq!(answer.class.and_then(|class| class.first_answer), Some(FirstAnswer::AckAlone));
}

/// The probes that the client sent before a late answer are part of what the classifier sees.
#[test]
fn an_answer_after_the_first_probes_is_read_with_them() {
    let mut known = None;
    let server = Hostile::start(move |socket, datagram| {
        let Some((address, bytes)) = datagram else { return };
        match known.take() {
            None => known = Some(Client::new(address, bytes)),
            Some(client) => {
                _ = socket.send_to(&client.initial(0, &ACK, 64), client.address);
                // Ends the handshake.
                _ = socket.send_to(&client.initial(1, &[0x1c, 1, 0, 0], 1200), client.address);
            }
        }
    });
    let (answer, _) = ask(server.address);
    let class = answer.class.expect("it was answered");
    assert_eq!((class.first_answer, class.first_ack_bytes), (Some(FirstAnswer::Closed), Some(64)));
    // The first probe is sent after three times the initial RTT, and not before.
    assert!(class.first_ack_ns.is_some_and(|time| time >= 998_000_000), "{class:?}");
    assert!(class.unvalidated_received_bytes >= Some(2 * 1200), "{class:?}");
}

#[test]
fn a_server_that_never_stops_is_cut_off() {
    let server = answering(|socket, client, _| {
        for number in 0..=255 {
            _ = socket.send_to(&client.initial(number, &[1], 1200), client.address);
        }
    });
    let (answer, _) = ask(server.address);
    // One that went on until its timeout would have timed out.
    assert_eq!(answer.outcome, Outcome::Malformed, "{answer:?}");
    assert_eq!(answer.detail.as_deref(), Some("the server sent more than 262144 bytes"));
    assert!(answer.received_bytes < (256 << 10) + 1200);
}

#[test]
fn a_server_that_closes_at_once_has_closed() {
    let server = answering(|socket, client, number| {
        // INTERNAL_ERROR with a reason.
        let frames = [&[0x1c, 1, 0, 4][..], b"busy"].concat();
        _ = socket.send_to(&client.initial(number, &frames, 1200), client.address);
    });
    let (answer, _) = ask(server.address);
    assert_eq!(answer.outcome, Outcome::Closed, "{answer:?}");
    assert!(answer.detail.as_deref().is_some_and(|detail| detail.contains("busy")), "{answer:?}");
    let class = answer.class.expect("it was answered");
    assert_eq!(class.first_answer, Some(FirstAnswer::Closed), "{class:?}");
    assert_eq!(class.closes.first().map(|close| (close.error, close.reason.as_str())), Some((1, "busy")));
}

#[test]
fn another_version_is_negotiation() {
    // RFC 9000 section 17.2.1.
    let server = answering(|socket, client, _| {
        let mut packet = vec![0x80, 0, 0, 0, 0, client.source.len() as u8];
        packet.extend_from_slice(&client.source);
        packet.push(client.destination.len() as u8);
        packet.extend_from_slice(&client.destination);
        packet.extend_from_slice(&[0x6b, 0x33, 0x43, 0xcf]);
        _ = socket.send_to(&packet, client.address);
    });
    let (answer, _) = ask(server.address);
    assert_eq!(answer.outcome, Outcome::VersionNegotiation);
    assert_eq!(answer.class.map(|class| class.offered_versions), Some(vec![0x6b33_43cf]));
}

#[test]
fn an_answer_from_another_address_is_counted_and_not_read() {
    let other = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let server = answering(move |_, client, number| {
        _ = other.send_to(&client.initial(number, &[0x1c, 1, 0, 0], 1200), client.address);
    });
    let (answer, counters) = ask_within(TIMEOUT, server.address);
    assert_eq!(answer.outcome, Outcome::Silent, "{answer:?}");
    assert!(answer.detail.as_deref().is_some_and(|detail| detail.contains("another address")), "{answer:?}");
    assert!(counters.foreign_datagrams >= 1, "{counters:?}");
}

#[test]
fn late_answers_are_ignored_without_a_word() {
    let (sender, received) = std::sync::mpsc::channel();
    let server = Hostile::start(move |_, datagram| {
        if let Some((address, bytes)) = datagram {
            _ = sender.send((address, Client::new(address, bytes)));
        }
    });
    let settings = ScanSettings { timeout: Duration::from_millis(100), ..ScanSettings::default() };
    let mut scanner = Scanner::new(&settings).expect("a scanner");
    scanner.ask(Request { id: 1, address: server.address, server_name: None, keeps_packets: false });
    let mut outcome = None;
    while scanner.in_flight() > 0 {
        scanner.turn(Duration::from_millis(50), &mut |answer| outcome = Some(answer.outcome)).expect("a turn");
    }
    assert_eq!(outcome, Some(Outcome::Silent));
    let (address, client) = received.recv().expect("the client's Initial");
    let late = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    late.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
    for packet in [client.initial(0, &ACK, 1200), vec![0x40; 1200]] {
        late.send_to(&packet, address).expect("sent");
        scanner.turn(Duration::from_millis(50), &mut |answer| panic!("{answer:?}")).expect("a turn");
    }
    assert_eq!(scanner.counters().late_datagrams, 2);
    assert_eq!(scanner.counters().sent_datagrams, 1);
    assert!(late.recv_from(&mut [0; 2048]).is_err(), "nothing is sent to those who are unknown");
}
