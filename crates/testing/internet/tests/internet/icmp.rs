//! ICMP messages reach the socket that asked.

use std::net::UdpSocket;

use nix::sys::socket::{setsockopt, sockopt};
use quiclab_internet::{Behaviour, Unreachable};
use quiclab_testing::Wakings;

use crate::{
    Case,
    support::{ECHO, HANG_TIMEOUT, SILENCE, client, host, internet, now_ns, serve},
};

pub const CASES: &[Case] = &[
    ("an_icmp_message_is_an_error_of_the_socket", an_icmp_message_is_an_error_of_the_socket),
    ("a_host_can_send_icmp_messages_about_others", a_host_can_send_icmp_messages_about_others),
    ("an_answer_that_comes_at_once_is_delivered", an_answer_that_comes_at_once_is_delivered),
    ("another_port_is_unreachable", another_port_is_unreachable),
    ("a_silent_host_says_nothing", a_silent_host_says_nothing),
];

fn an_icmp_message_is_an_error_of_the_socket() {
    // What Linux makes of each: icmp_err_convert in net/ipv4/icmp.c, and tab_unreach in net/ipv6/icmp.c.
    let all = [
        (Unreachable::Port, "100.64.0.1", libc::ECONNREFUSED),
        (Unreachable::Host, "100.64.0.2", libc::EHOSTUNREACH),
        (Unreachable::Network, "100.64.0.3", libc::ENETUNREACH),
        (Unreachable::Prohibited, "100.64.0.4", libc::EHOSTUNREACH),
        (Unreachable::Port, "2001:db8:64::1", libc::ECONNREFUSED),
        (Unreachable::Host, "2001:db8:64::2", libc::EHOSTUNREACH),
        (Unreachable::Network, "2001:db8:64::3", libc::ENETUNREACH),
        (Unreachable::Prohibited, "2001:db8:64::4", libc::EACCES),
    ];
    let internet = internet(all.iter().map(|(why, address, _)| host(address, 5, Behaviour::Icmp(*why))).collect());
    for (why, address, error) in all {
        let socket = client(address);
        // Without it a socket is not told of what may pass.
        if address.contains(':') {
            setsockopt(&socket, sockopt::Ipv6RecvErr, &true).unwrap();
        } else {
            setsockopt(&socket, sockopt::Ipv4RecvErr, &true).unwrap();
        }
        let (sent, wakings) = (now_ns(), Wakings::watch());
        socket.send(&[1; 1200]).unwrap();
        let found = socket.recv(&mut [0; 2000]).unwrap_err();
        let took = now_ns() - sent;
        assert_eq!(found.raw_os_error(), Some(error), "{why:?} from {address}: {found}");
        // The RTT, and then at once. Without the message the client would wait for minutes.
        let late = wakings.latest().as_nanos() as u64;
        assert!(took >= 5_000_000 && took < 50_000_000 + 20 * late, "{took} ns, woken {late} ns late");
    }
    let truth = internet.stop().unwrap();
    assert!(truth.flows.iter().all(|flow| flow.datagrams_to_host == 1 && flow.datagrams_to_client == 0));
}

/// The kernel looks for a socket by the addresses in the quote, and not at who sends the message.
fn a_host_can_send_icmp_messages_about_others() {
    for (hostile, other) in [("100.64.0.1", "100.64.0.2"), ("2001:db8:64::1", "2001:db8:64::2")] {
        let others = vec![other.parse().unwrap()];
        let behaviour = Behaviour::IcmpAboutOthers { why: Unreachable::Port, others, quoted: 8 };
        let internet = internet(vec![host(hostile, 1, behaviour), host(other, 1, Behaviour::Silent)]);
        let to: std::net::IpAddr = hostile.parse().unwrap();
        // Without a connection, as a scanner's: told of errors about whomever it sent to.
        let socket = UdpSocket::bind(if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).unwrap();
        if to.is_ipv4() {
            setsockopt(&socket, sockopt::Ipv4RecvErr, &true).unwrap();
        } else {
            setsockopt(&socket, sockopt::Ipv6RecvErr, &true).unwrap();
        }
        socket.send_to(&[1; 1200], (to, 443)).unwrap();
        socket.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
        let error = socket.recv(&mut [0; 10]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ECONNREFUSED), "{hostile}: {error}");
        drop(internet);
    }
}

/// The kernel routes packets to an IPv6 address only a moment after it has given it to the interface.
fn an_answer_that_comes_at_once_is_delivered() {
    for round in 0..60 {
        let internet = internet(vec![host("2001:db8:64::1", 0, Behaviour::Icmp(Unreachable::Port))]);
        let socket = client("2001:db8:64::1");
        socket.send(&[1; 1200]).unwrap();
        let error = socket.recv(&mut [0; 10]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ECONNREFUSED), "{round}: {error}");
        drop(internet);
    }
}

fn another_port_is_unreachable() {
    let internet = internet(vec![host("100.64.0.1", 1, serve(ECHO))]);
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("100.64.0.1:80").unwrap();
    socket.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
    socket.send(&[1, 2]).unwrap();
    let error = socket.recv(&mut [0; 10]).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ECONNREFUSED));
    drop(internet);
}

fn a_silent_host_says_nothing() {
    let internet = internet(vec![host("100.64.0.1", 1, Behaviour::Silent)]);
    for nobody in ["100.64.0.1", "100.64.0.2", "2001:db8:64::1"] {
        let socket = client(nobody);
        socket.set_read_timeout(Some(SILENCE)).unwrap();
        socket.send(&[1, 2]).unwrap();
        assert_eq!(socket.recv(&mut [0; 10]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }
    let truth = internet.stop().unwrap();
    assert_eq!((truth.counters.to_silent, truth.counters.to_nobody, truth.counters.to_clients), (1, 2, 0));
    assert_eq!(truth.datagrams_to_host, [1]);
}
