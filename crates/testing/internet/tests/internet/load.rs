//! Many handshakes at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use quiclab_internet::Internet;

use crate::{
    Case,
    stack::{Manner, Server, client_endpoint, handshake, runtime},
    support::{ECHO, HANG_TIMEOUT, Slowness, client, description, host, receive, serve, with_room},
};

pub const CASES: &[Case] = &[
    ("two_thousand_handshakes_a_second_fit_on_a_core", two_thousand_handshakes_a_second_fit_on_a_core),
    ("thousands_of_hosts_answer_at_once", thousands_of_hosts_answer_at_once),
];

/// Handshakes that are in flight at the same time.
const CONCURRENT: usize = 64;
const HANDSHAKES: usize = 2000;
/// CPU time for each so that a core carries 2000 of them in a second. Libraries without optimisation take several times as much.
const MOST_CPU: Duration = Duration::from_micros(if cfg!(debug_assertions) { 2500 } else { 500 });

fn two_thousand_handshakes_a_second_fit_on_a_core() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Manner::default());
    let hosts = (0..4000).map(|number| host(&format!("100.64.{}.{}", number / 250, number % 250), 10, serve("quinn")));
    let mut one = description(hosts.collect());
    let address = server.address;
    one.servers.push(quiclab_internet::Server { name: "quinn".to_owned(), address, instant_ack: Some(false) });
    one.settings.record = Some(folder.path().to_owned());
    // Client and server need the cores.
    one.settings.spin = quiclab_units::Duration::ZERO;
    let slowness = Slowness::watch();
    let internet = Internet::start(&one).unwrap();
    let began = Instant::now();
    let next = Arc::new(AtomicUsize::new(0));
    runtime(1).block_on(async {
        let endpoint = client_endpoint();
        let tasks: Vec<_> = (0..CONCURRENT)
            .map(|_| {
                let (endpoint, config, next) = (endpoint.clone(), server.client_config(), next.clone());
                tokio::spawn(async move {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= HANDSHAKES {
                            break;
                        }
                        let address = format!("100.64.{}.{}", number / 250, number % 250);
                        let (connection, _) = handshake(&endpoint, config.clone(), &address).await;
                        connection.unwrap().close(0_u32.into(), b"");
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    let took = began.elapsed();
    let truth = internet.stop().unwrap();
    let each = Duration::from_nanos(truth.counters.cpu_ns / HANDSHAKES as u64);
    println!("{HANDSHAKES} handshakes in {took:?} with client and server; {each:?} of CPU each for the Internet");
    println!("{:?} {:?}", truth.counters, truth.lateness);
    // Work beside it takes caches and the other half of a core.
    let slowness = slowness.factor();
    assert!(each < MOST_CPU.mul_f64(slowness), "{each:?}, {slowness}");
    assert_eq!(truth.counters.flows, HANDSHAKES as u64);
    let counters = truth.counters;
    let lost = [counters.refused_flows, counters.too_many_held, counters.too_long, counters.not_taken];
    assert_eq!(lost, [0; 4]);
    assert_eq!((counters.dropped_at_interface, counters.dropped_inside), (Some(0), Some(0)));
    assert_eq!((counters.not_recorded, counters.recorded_late), (0, 0));
}

fn thousands_of_hosts_answer_at_once() {
    const HOSTS: usize = 5000;
    /// Bytes of a datagram behind all others.
    const LAST: usize = 600;
    let hosts = (0..HOSTS).map(|number| host(&format!("100.64.{}.{}", number / 250, number % 250), 30, serve(ECHO)));
    let internet = Internet::start(&description(hosts.collect())).unwrap();
    // All from one socket, as a scanner does it.
    let socket = with_room(std::net::UdpSocket::bind("0.0.0.0:0").unwrap());
    socket.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
    let reader = socket.try_clone().unwrap();
    let reading = std::thread::spawn(move || {
        let mut hosts = std::collections::BTreeSet::new();
        loop {
            let (bytes, from) = reader.recv_from(&mut [0; 2000]).unwrap();
            if bytes == LAST {
                return hosts.len();
            }
            hosts.insert(from);
        }
    });
    let began = Instant::now();
    for number in 0..HOSTS {
        socket.send_to(&[1; 1200], format!("100.64.{}.{}:443", number / 250, number % 250)).unwrap();
    }
    let sent = began.elapsed();
    // Answers keep their order, so that all others have come or were dropped before one of these.
    let mut marks = 0;
    while !reading.is_finished() {
        socket.send_to(&[1; LAST], "100.64.0.1:443").unwrap();
        marks += 1;
        std::thread::sleep(Duration::from_millis(50));
    }
    let answered = reading.join().unwrap() as u64;
    let last = client("100.64.0.1");
    last.send(&[1, 2]).unwrap();
    receive(&last, &mut [0; 10]).unwrap();
    let truth = internet.stop().unwrap();
    println!("{answered} of {HOSTS}, sent in {sent:?}; {:?} {:?}", truth.counters, truth.lateness);
    // What echo server and reader dropped is no fault of the Internet.
    let dropped = truth.counters.dropped_at_servers.unwrap() + truth.counters.dropped_at_scanner.unwrap();
    assert!((HOSTS as u64..=HOSTS as u64 + marks).contains(&(answered + dropped)), "{answered} and {dropped} dropped");
    assert_eq!((truth.counters.dropped_at_interface, truth.counters.dropped_inside), (Some(0), Some(0)));
    assert_eq!(truth.counters.from_clients, HOSTS as u64 + marks + 1);
}
