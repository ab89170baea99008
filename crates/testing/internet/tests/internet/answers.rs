//! What hosts without TLS say, seen by plain sockets.

use std::{io::IoSliceMut, net::UdpSocket, os::fd::AsRawFd};

use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt};
use quiclab_internet::{Behaviour, Internet, Rubbish};
use quiclab_testing::Wakings;

use crate::{
    Case,
    support::{
        ECHO, HANG_TIMEOUT, SILENCE, client, description, host, internet, median, millis, receive, receive_all, serve,
    },
};

pub const CASES: &[Case] = &[
    ("an_answer_can_come_from_another_address", an_answer_can_come_from_another_address),
    ("an_amplifier_sends_more_than_three_times", an_amplifier_sends_more_than_three_times),
    ("a_flood_goes_on", a_flood_goes_on),
    ("a_strange_version_is_negotiated", a_strange_version_is_negotiated),
    ("rubbish_is_answered_with_rubbish", rubbish_is_answered_with_rubbish),
    ("marks_of_ecn_pass_in_both_directions", marks_of_ecn_pass_in_both_directions),
];

/// An Initial packet of a client, as far as a middlebox sees it.
fn initial(version: u32) -> Vec<u8> {
    let mut packet =
        [&[0xc3][..], &version.to_be_bytes(), &[8, 1, 2, 3, 4, 5, 6, 7, 8, 2, 9, 9, 0, 0x44, 0x9e]].concat();
    packet.resize(1200, 0x55);
    packet
}

fn an_answer_can_come_from_another_address() {
    let all = [("100.64.0.1", "203.0.113.9"), ("2001:db8:64::1", "2001:db8:64::2")];
    let hosts = all.map(|(asked, answers)| {
        host(asked, 1, Behaviour::FromAnotherAddress { server: ECHO.to_owned(), address: answers.parse().unwrap() })
    });
    let internet = internet(hosts.to_vec());
    for (asked, answers) in all {
        let socket = UdpSocket::bind(if asked.contains(':') { "[::]:0" } else { "0.0.0.0:0" }).unwrap();
        socket.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
        let asked: std::net::IpAddr = asked.parse().unwrap();
        socket.send_to(&[1, 2], (asked, 443)).unwrap();
        let (bytes, from) = socket.recv_from(&mut [0; 10]).unwrap();
        assert_eq!(
            (bytes, from.to_string()),
            (2, std::net::SocketAddr::new(answers.parse().unwrap(), 443).to_string())
        );
    }
    // A connected socket never sees it.
    let socket = client("100.64.0.1");
    socket.set_read_timeout(Some(SILENCE)).unwrap();
    socket.send(&[1, 2]).unwrap();
    assert!(socket.recv(&mut [0; 10]).is_err());
    drop(internet);
}

fn an_amplifier_sends_more_than_three_times() {
    let behaviour = |percent| Behaviour::Amplifier { server: ECHO.to_owned(), percent };
    let internet = internet(vec![
        host("100.64.0.1", 1, behaviour(310)),
        host("100.64.0.2", 1, behaviour(1000)),
        host("100.64.0.3", 1, behaviour(1001)),
    ]);
    for (address, datagrams) in [("100.64.0.1", 4), ("100.64.0.2", 10), ("100.64.0.3", 11)] {
        let socket = client(address);
        socket.send(&[1; 1200]).unwrap();
        let bytes: usize = receive_all(&socket).iter().map(|(datagram, _)| datagram.len()).sum();
        assert_eq!(bytes, datagrams * 1200);
    }
    drop(internet);
}

fn a_flood_goes_on() {
    let behaviour = Behaviour::Flood { interval: millis(2), lasting: millis(400) };
    let internet = internet(vec![host("100.64.0.1", 1, behaviour)]);
    let socket = client("100.64.0.1");
    let wakings = Wakings::watch();
    socket.send(&initial(1)).unwrap();
    let all = receive_all(&socket);
    let late = wakings.latest().as_nanos() as i64;
    println!("{} datagrams", all.len());
    assert_eq!(all.len(), 200);
    assert!(all.iter().all(|(datagram, _)| datagram[..8] != all[1].0[8..16] && datagram[5..8] == [2, 9, 9]));
    let gaps: Vec<_> = all.windows(2).map(|pair| pair[1].1 as i64 - pair[0].1 as i64).collect();
    assert!((median(gaps) - 2_000_000).abs() < 500_000 + late, "woken {late} ns late");
    drop(internet);
}

fn a_strange_version_is_negotiated() {
    let behaviour = |server: Option<&str>| Behaviour::VersionNegotiation {
        versions: vec![0x6b33_43cf, 0xfaba_dada],
        server: server.map(str::to_owned),
    };
    let internet = internet(vec![host("100.64.0.1", 1, behaviour(None)), host("100.64.0.2", 1, behaviour(Some(ECHO)))]);
    for address in ["100.64.0.1", "100.64.0.2"] {
        let socket = client(address);
        socket.send(&initial(1)).unwrap();
        let mut buffer = [0; 2000];
        let (bytes, _) = receive(&socket, &mut buffer).unwrap();
        // RFC 9000 section 17.2.1, with the connection IDs exchanged.
        assert_eq!(buffer[0] & 0x80, 0x80);
        let expected = [0, 0, 0, 0, 2, 9, 9, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0x6b, 0x33, 0x43, 0xcf, 0xfa, 0xba, 0xda, 0xda];
        assert_eq!(buffer[1..bytes], expected);
    }
    let socket = client("100.64.0.2");
    let mut listed = initial(0x6b33_43cf);
    listed[0] = 1;
    socket.send(&listed).unwrap();
    // The first byte says no long header: it reaches the server.
    assert_eq!(socket.recv(&mut [0; 2000]).unwrap(), 1200);
    drop(internet);
}

fn rubbish_is_answered_with_rubbish() {
    let kinds = [Rubbish::Bytes, Rubbish::LongHeader, Rubbish::WrongConnectionId, Rubbish::Crypto];
    let hosts =
        kinds.iter().zip(1..).map(|(kind, number)| host(&format!("100.64.0.{number}"), 1, Behaviour::Rubbish(*kind)));
    let internet = internet(hosts.collect());
    for number in 1..=kinds.len() {
        let socket = client(&format!("100.64.0.{number}"));
        socket.send(&initial(1)).unwrap();
        assert!(socket.recv(&mut [0; 2000]).unwrap() > 0);
    }
    drop(internet);
}

/// Mark of the next datagram.
fn receive_mark(socket: &UdpSocket) -> (u8, Option<SockaddrStorage>) {
    let mut space = nix::cmsg_space!(nix::sys::time::TimeSpec, u8);
    let mut buffer = [0; 2000];
    let mut slices = [IoSliceMut::new(&mut buffer)];
    let message =
        recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(&mut space), MsgFlags::empty()).unwrap();
    let mark = message.cmsgs().unwrap().find_map(|control| match control {
        ControlMessageOwned::Ipv4Tos(class) => Some(class & 3),
        _ => None,
    });
    (mark.unwrap_or(0), message.address)
}

fn marks_of_ecn_pass_in_both_directions() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    setsockopt(&server, sockopt::IpRecvTos, &true).unwrap();
    let mut one = description(vec![host("100.64.0.1", 1, serve("marking"))]);
    let address = server.local_addr().unwrap();
    one.servers.push(quiclab_internet::Server { name: "marking".to_owned(), address, instant_ack: None });
    let internet = Internet::start(&one).unwrap();
    let socket = client("100.64.0.1");
    setsockopt(&socket, sockopt::IpRecvTos, &true).unwrap();
    // ECT(1), ECT(0), CE and none: RFC 3168 section 5.
    for (mark, answer) in [(1, 2), (2, 3), (3, 0), (0, 1)] {
        setsockopt(&socket, sockopt::Ipv4Tos, &mark).unwrap();
        socket.send(&[1; 1200]).unwrap();
        let (found, from) = receive_mark(&server);
        assert_eq!(i32::from(found), mark);
        setsockopt(&server, sockopt::Ipv4Tos, &answer).unwrap();
        let from = *from.unwrap().as_sockaddr_in().unwrap();
        server.send_to(&[2; 1200], std::net::SocketAddrV4::from(from)).unwrap();
        assert_eq!(i32::from(receive_mark(&socket).0), answer);
    }
    drop(internet);
}
