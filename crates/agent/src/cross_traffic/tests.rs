//! Cross traffic over the loopback interface.

use std::net::{Ipv4Addr, SocketAddr};

use super::{
    ends::due_after,
    socket::{sink, source},
    *,
};

/// Ports of tests, which need no privilege.
fn local(port: u16) -> SocketAddr {
    SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)
}

/// What became of cross traffic, once it lasted long enough for so many bytes: the first time `milliseconds`, then twice as long each time,
/// as long as a busy machine needs.
fn over_loopback_until(least_bytes: u64, flow: &CrossFlow, first_port: u16, milliseconds: u64) -> CrossTrafficReport {
    for attempt in 0..12 {
        let from = first_port + 2 * attempt;
        let report = over_loopback(flow.clone(), [from, from + 1], milliseconds << attempt);
        if report.bytes_received >= least_bytes {
            return report;
        }
    }
    panic!("hung: {least_bytes} bytes never came over the loopback interface in minutes");
}

/// What became of cross traffic from one port to another, after this long.
fn over_loopback(flow: CrossFlow, ports: [u16; 2], milliseconds: u64) -> CrossTrafficReport {
    let [from, to] = ports.map(local);
    let order = Order { flow, over_ipv6: false, start_ns: 0, duration_ns: None };
    let event = || Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK).unwrap());
    let sink = sink(&order.flow, to).unwrap();
    let source = source(&order.flow, from).unwrap();
    let mut traffic =
        CrossTraffic { stop_source: event(), stop_sink: event(), stage: Stage::Ready { order, source, sink, to } };
    traffic.start().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
    let mut report = CrossTrafficReport::default();
    traffic.stop_source(&mut report).unwrap();
    traffic.stop_sink(&mut report).unwrap();
    report
}

#[test]
fn every_datagram_that_was_sent_over_loopback_arrives_and_none_is_early() {
    let flow = CrossFlow::Udp { rate_bits_per_second: 8_000_000, datagram_bytes: 1000 };
    let report = over_loopback_until(1000, &flow, 29_001, 50);
    assert!(report.is_complete);
    assert_eq!((report.packets_received, report.bytes_received), (report.packets_sent, report.bytes_sent));
    assert_eq!(report.bytes_sent, report.packets_sent * 1000);
    // One each millisecond, the first one at once. A busy machine sends less, and nothing sends more.
    let most = report.lifetime_ns / 1_000_000 + 1;
    assert!((1..=most).contains(&report.packets_sent), "{report:?}");
}

#[test]
fn tcp_hands_over_all_that_it_took_and_both_ends_count_the_same() {
    let flow = CrossFlow::Tcp { congestion_control: "reno".to_owned() };
    let report = over_loopback_until(65 << 10, &flow, 29_101, 30);
    assert!(report.is_complete, "{report:?}");
    assert_eq!(report.bytes_sent, report.bytes_received);
    assert_eq!(report.packets_sent, report.packets_received);
    // Nothing is lost on loopback, but the kernel probes where a busy machine acknowledges late (RFC 8985, section 7).
    assert!(report.retransmissions.is_some_and(|sent_again| sent_again < report.packets_sent), "{report:?}");
}

#[test]
fn a_congestion_control_that_the_kernel_lacks_is_named() {
    let error = source(&CrossFlow::Tcp { congestion_control: "tortoise".to_owned() }, local(29_005)).unwrap_err();
    assert!(format!("{error:#}").contains("congestion control tortoise"), "{error:#}");
}

#[test]
fn datagrams_are_due_without_an_error_that_grows() {
    // A third of a nanosecond too much for each would be a third of a second after a billion.
    let rate = 3_000_000_000;
    assert_eq!(due_after(0, rate, 1), std::time::Duration::ZERO);
    assert_eq!(due_after(3_000_000_000, rate, 1).as_nanos(), 8_000_000_000);
    assert_eq!(due_after(1_000, 12_000_000, 1500).as_nanos(), 1_000_000_000);
}
