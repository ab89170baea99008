//! Cross traffic beside a transfer in namespaces of this host: what both ends count is what the taps saw.

use crate::common::{Answer, CLIENT, SERVER, orders, perform};
use quiclab_agent_protocol::{
    cross_traffic::{CrossFlow, CrossTraffic, PORT, SNAPLEN_BYTES},
    network::Discipline,
    report::Outcome,
    ring::for_each_packet,
};
use quiclab_testing::has_namespaces;

/// Frames of this version of IP with data from the source of the cross traffic at a tap: how many there are, and the bytes that were
/// kept of the longest.
fn cross_frames(answer: &Answer, tap: usize, ipv6: bool) -> (u64, u32) {
    let report = &answer.report.taps[tap];
    let (mut count, mut longest) = (0, 0);
    let ring = &answer.blobs[&format!("tap/{}", report.name)];
    for_each_packet(ring, report.block_bytes as usize, |packet| {
        let (ports, has_data) = if ipv6 { (54, 80) } else { (34, 80) };
        let port = packet.bytes.get(ports..ports + 2).map(|bytes| u16::from_be_bytes(bytes.try_into().unwrap()));
        if port == Some(PORT) && packet.outgoing && packet.original_length > has_data {
            count += 1;
            longest = longest.max(packet.bytes.len() as u32);
        }
    })
    .unwrap();
    (count, longest)
}

fn observations(flow: CrossFlow, over_ipv6: bool) -> Answer {
    let mut orders = orders(SERVER, CLIENT);
    orders.cross_traffic = Some(CrossTraffic { flow, over_ipv6, start_ns: 0, duration_ns: None });
    orders.tap.as_mut().unwrap().room_bytes = 64 << 20;
    // Two megabytes per second, and little room: TCP loses packets.
    orders.network.to_client =
        vec![Discipline::Tbf { rate_bytes_per_second: 2_000_000, burst_bytes: 3_000, limit_bytes: 30_000 }];
    let answer = perform(&orders);
    assert_eq!(answer.report.outcome, Outcome::Done);
    answer
}

#[test]
fn datagrams_over_ipv6_are_counted_at_both_ends_as_at_the_taps() {
    if !has_namespaces() {
        return;
    }
    let answer = observations(CrossFlow::Udp { rate_bits_per_second: 4_000_000, datagram_bytes: 500 }, true);
    let seen = answer.report.cross_traffic.as_ref().unwrap();
    let [sent, behind] = [0, 1].map(|tap| cross_frames(&answer, tap, true));
    assert!(seen.packets_sent > 10 && seen.is_complete, "{seen:?}");
    assert_eq!((seen.packets_sent, seen.packets_received), (sent.0, behind.0));
    assert_eq!(seen.bytes_received, 500 * seen.packets_received);
    assert_eq!((sent.1, behind.1), (SNAPLEN_BYTES, SNAPLEN_BYTES));
    let dropped: u64 = answer.report.qdiscs.iter().map(|queue| queue.drops).sum();
    assert!(seen.packets_sent - seen.packets_received <= dropped, "{seen:?}, {dropped} drops");
}

#[test]
fn a_tcp_connection_takes_its_share_and_its_losses_are_known() {
    if !has_namespaces() {
        return;
    }
    let answer = observations(CrossFlow::Tcp { congestion_control: "reno".to_owned() }, false);
    let seen = answer.report.cross_traffic.as_ref().unwrap();
    let [sent, behind] = [0, 1].map(|tap| cross_frames(&answer, tap, false));
    assert!(seen.is_complete && seen.packets_sent > 50, "{seen:?}");
    assert_eq!((seen.packets_sent, seen.packets_received), (sent.0, behind.0));
    assert_eq!(seen.bytes_sent, seen.bytes_received);
    assert!(seen.retransmissions >= Some(seen.packets_sent - seen.packets_received), "{seen:?}");
}
