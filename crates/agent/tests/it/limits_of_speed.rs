//! What happens where packets come faster than a tap or the forwarder takes them.

use crate::common;
use crate::common::{CLIENT, SERVER, orders, perform};
use quiclab_agent_protocol::{
    forwarder::{Forwarder, RealTime},
    orders::{Orders, Transport},
    report::{Outcome, TapReport},
    ring::for_each_packet,
};
use quiclab_testing::has_namespaces;

/// Length of a transfer at full speed: `TAP_MIB` MiB.
fn large() -> u64 {
    std::env::var("TAP_MIB").map_or(64, |text| text.parse().expect("TAP_MIB is a number")) << 20
}

/// Orders for a transfer over a link that nothing limits, of which the taps keep headers.
fn unlimited(size: u64) -> Orders {
    let mut orders = orders(SERVER, CLIENT);
    orders.has_ipv6 = false;
    orders.transfer.size_bytes = size;
    orders
}

/// Packets that the capture of a tap holds, and the bytes of their frames.
fn captured(answer: &common::Answer, tap: &TapReport) -> (u64, u64) {
    let mut found = (0, 0);
    for_each_packet(&answer.blobs[&format!("tap/{}", tap.name)], tap.block_bytes as usize, |packet| {
        found = (found.0 + 1, found.1 + u64::from(packet.original_length));
    })
    .unwrap();
    found
}

#[test]
fn taps_of_headers_lose_nothing_at_the_highest_rate_of_this_machine() {
    if !has_namespaces() {
        return;
    }
    let answer = perform(&unlimited(large()));
    assert_eq!(answer.report.outcome, Outcome::Done);
    let seconds = answer.report.client_lifetime_ns.unwrap() as f64 / 1e9;
    for tap in &answer.report.taps {
        let (packets, bytes) = captured(&answer, tap);
        println!("{}: {packets} packets, {:.2} Gbit/s", tap.name, bytes as f64 * 8e-9 / seconds);
        assert!(bytes > large() && packets > large() / 1448, "{tap:?}: {packets} packets, {bytes} bytes");
        assert_eq!((tap.packets_lost, tap.packets_seen), (0, packets));
    }
}

#[test]
fn a_tap_without_room_says_how_much_it_has_lost() {
    if !has_namespaces() {
        return;
    }
    // The room is that of the transfer that was ordered, and 32 times as much is sent.
    let mut orders = unlimited(1 << 20);
    orders.server.command[2] = SERVER.replace(".read())", ".read() * 32)");
    orders.tap.as_mut().unwrap().snaplen_bytes = None;
    orders.client.command[2] = CLIENT.replace("file.write(data)", "pass");
    let answer = perform(&orders);
    let [sender, behind] = &answer.report.taps[..] else { panic!("{:?}", answer.report.taps) };
    let (packets, _) = captured(&answer, sender);
    assert!(sender.packets_lost > 0, "{sender:?}");
    assert_eq!(sender.packets_seen, packets + sender.packets_lost);
    assert!(packets > 1000 && behind.packets_seen > packets, "{packets} packets, {behind:?}");
}

/// Sends super-packets of 64 datagrams with one byte each, as fast as it can.
const FLOOD: &str = "
import socket, time
flood = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
flood.setsockopt(socket.IPPROTO_UDP, 103, 1)
flood.connect(('server4', 443))
end = time.monotonic() + 2
while time.monotonic() < end:
    try:
        flood.send(bytes(64))
    except ConnectionRefusedError:
        pass
";
/// Listens, and does not read.
const SILENT: &str = "
import socket, time
listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listener.bind(('193.167.100.100', 443))
time.sleep(60)
";

#[test]
fn a_forwarder_that_cannot_keep_up_fails_the_run_and_names_the_rate_that_it_carried() {
    if !has_namespaces() {
        return;
    }
    let mut orders = orders(SILENT, FLOOD);
    orders.has_ipv6 = false;
    orders.listen.transport = Transport::Udp;
    orders.transfer.names.clear();
    orders.tap = None;
    orders.network.super_packets = true;
    // Each datagram goes through the stage, so each super-packet is cut.
    let stage = "stage = \"loss\"\nname = \"seldom\"\nmodel = \"rule\"\nevery = 4000000000\n";
    orders.network.forwarder = Some(Forwarder {
        to_client: Vec::new(),
        to_server: vec![toml::from_str(stage).unwrap()],
        seed: 1,
        reads_packets_of_port: None,
        real_time: Some(RealTime::default()),
    });
    let report = perform(&orders).report;
    let Outcome::AgentFailed { error } = &report.outcome else { panic!("{report:?}") };
    for part in ["to-client: ", "frames found the forwarder's socket full", "carried ", "bit/s, ", "hint: a lower rate"]
    {
        assert!(error.contains(part), "{part:?} is missing: {error}");
    }
    let counts = report.forwarder.unwrap().super_packets.unwrap();
    assert!(counts.cut > 100 && counts.packets == 64 * counts.cut && counts.whole == 0, "{counts:?}");
}
