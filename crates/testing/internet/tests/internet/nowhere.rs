//! No packet leaves the machine.

use std::{
    io::ErrorKind,
    net::{TcpStream, UdpSocket},
};

use quiclab_internet::{INTERFACE, Internet, ways_out};

use crate::{
    Case,
    support::{ECHO, SILENCE, client, description, host, internet, serve},
};

pub const CASES: &[Case] = &[
    ("nothing_leaves", nothing_leaves),
    ("a_way_out_is_found", a_way_out_is_found),
    (
        "a_hundred_thousand_silent_hosts_cost_only_their_entries",
        a_hundred_thousand_silent_hosts_cost_only_their_entries,
    ),
    ("an_internet_can_follow_another", an_internet_can_follow_another),
    ("a_bad_description_makes_nothing", a_bad_description_makes_nothing),
];

fn nothing_leaves() {
    assert_eq!(ways_out(&[]).unwrap(), [] as [&str; 0]);
    let internet = internet(vec![host("100.64.0.1", 0, serve(ECHO)), host("2001:db8:64::1", 0, serve(ECHO))]);
    assert_eq!(ways_out(&[INTERFACE]).unwrap(), [] as [&str; 0]);
    let mut interfaces: Vec<_> = nix::net::if_::if_nameindex()
        .unwrap()
        .iter()
        .map(|interface| interface.name().to_str().unwrap().to_owned())
        .collect();
    interfaces.sort();
    assert_eq!(interfaces, [INTERFACE, "lo"]);
    // The documentation's networks of others, and addresses that everybody knows.
    for elsewhere in ["192.0.2.1:443", "8.8.8.8:53", "1.1.1.1:443", "[2001:db8:65::1]:443", "[2606:4700::1111]:443"] {
        let any = if elsewhere.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
        let error = UdpSocket::bind(any).unwrap().send_to(b"out", elsewhere).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NetworkUnreachable, "{elsewhere}");
        let error = TcpStream::connect(elsewhere).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NetworkUnreachable, "{elsewhere}");
    }
    drop(internet);
    assert_eq!(ways_out(&[]).unwrap(), [] as [&str; 0]);
}

fn a_way_out_is_found() {
    // The same namespace, if the interface of hosts were no interface of hosts.
    let internet = internet(vec![host("100.64.0.1", 0, serve(ECHO))]);
    let ways = ways_out(&[]).unwrap();
    assert!(ways.iter().any(|way| way.contains(INTERFACE)), "{ways:?}");
    assert!(ways.iter().any(|way| way.starts_with("route")), "{ways:?}");
    drop(internet);
}

fn a_hundred_thousand_silent_hosts_cost_only_their_entries() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/statm").unwrap();
        status.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    };
    let all: Vec<_> = (0..100_000_u32)
        .map(|number| {
            std::net::Ipv4Addr::from_bits(std::net::Ipv4Addr::new(100, 64, 0, 0).to_bits() | (number % 65536))
        })
        .take(65_000)
        .chain((0..35_000_u32).map(|number| std::net::Ipv4Addr::from_bits(0x6441_0000 + number)))
        .map(|address| host(&address.to_string(), 10, quiclab_internet::Behaviour::Silent))
        .collect();
    let mut description = description(all);
    description.groups[0].prefixes.push("100.65.0.0/16".parse().unwrap());
    let before = resident();
    let internet = Internet::start(&description).unwrap();
    let sender = UdpSocket::bind("0.0.0.0:0").unwrap();
    sender.set_nonblocking(true).unwrap();
    for host in &description.hosts {
        sender.send_to(&[0xc0; 1200], (host.address, 443)).unwrap();
    }
    std::thread::sleep(SILENCE * 3);
    assert!(sender.recv_from(&mut [0; 100]).is_err());
    let each = (resident() - before) / description.hosts.len();
    let truth = internet.stop().unwrap();
    println!("{each} bytes each; {:?}", truth.counters);
    assert_eq!(truth.counters.to_silent + truth.counters.dropped_at_interface.unwrap(), 100_000);
    assert_eq!(truth.counters.dropped_at_interface, Some(0));
    assert_eq!(truth.datagrams_to_host, vec![1; 100_000]);
    assert_eq!((truth.counters.flows, truth.counters.to_clients), (0, 0));
    assert!(each < 600, "{each}");
}

fn an_internet_can_follow_another() {
    let mut one = description(vec![host("100.64.0.1", 0, serve(ECHO))]);
    one.settings.resolver = None;
    for _ in 0..3 {
        let internet = Internet::start(&one).unwrap();
        let error = Internet::start(&one).unwrap_err().to_string();
        assert!(error.starts_with("TUN device"), "{error}");
        let socket = client("100.64.0.1");
        socket.send(&[1, 2]).unwrap();
        assert_eq!(socket.recv(&mut [0; 10]).unwrap(), 2);
        assert_eq!(internet.stop().unwrap().counters.flows, 1);
    }
}

fn a_bad_description_makes_nothing() {
    let bad = description(vec![host("192.0.2.1", 0, serve(ECHO))]);
    let error = Internet::start(&bad).unwrap_err().to_string();
    assert_eq!(error, "host 192.0.2.1: found address 192.0.2.1, expected one of a group's prefixes");
    assert_eq!(nix::net::if_::if_nameindex().unwrap().iter().count(), 1);
}
