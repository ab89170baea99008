//! TCP through the forwarder beside iperf3 through the same forwarder: both are limited by the same rate, and by nothing of ours.
//!
//! `make iperf3` runs it; it needs iperf3.

use crate::common::{Answer, CLIENT, SERVER, orders, perform};
use quiclab_agent_protocol::{
    forwarder::{Forwarder, RealTime},
    orders::Orders,
    report::Outcome,
    ring::for_each_packet,
};
use quiclab_path::spec::StageSpec;

const SIZE: u64 = 32 << 20;
const RATE_MBIT: u64 = 100;

/// Orders for a transfer through a bottleneck of 100 Mbit/s with a deep queue, 2 x 5 ms away.
fn bottleneck(server: &str, client: &str) -> Orders {
    let mut orders = orders(server, client);
    orders.has_ipv6 = false;
    orders.transfer.size_bytes = SIZE;
    orders.tap.as_mut().unwrap().room_bytes = SIZE;
    let stage = |text: &str| toml::from_str::<StageSpec>(text).unwrap();
    let delay = |name: &str| stage(&format!("stage = \"delay\"\nname = \"{name}\"\ndelay = \"5 ms\"\n"));
    let queue = stage("stage = \"queue\"\nname = \"queue\"\ndiscipline = \"drop_tail\"\nlimit = \"1000 packets\"\n");
    let rate = stage(&format!("stage = \"rate\"\nname = \"rate\"\nrate = \"{RATE_MBIT} Mbit/s\"\nburst = \"3 KiB\"\n"));
    orders.network.longest_delay_ns = 10_000_000;
    orders.network.forwarder = Some(Forwarder {
        to_client: vec![queue, rate, delay("there")],
        to_server: vec![delay("back")],
        seed: 1,
        reads_packets_of_port: None,
        real_time: Some(RealTime { largest_frame_bytes: 1514, ..RealTime::default() }),
    });
    orders
}

/// Bits of TCP payload each second from the first to the last packet behind the bottleneck that has some.
fn goodput(answer: &Answer) -> f64 {
    let tap = &answer.report.taps[1];
    assert_eq!(tap.packets_lost, 0);
    let mut found: Option<(u64, u64, u64)> = None;
    for_each_packet(&answer.blobs["tap/behind-bottleneck"], tap.block_bytes as usize, |packet| {
        let headers = 14 + 20 + u64::from(packet.bytes[46] >> 4) * 4;
        let payload = u64::from(packet.original_length).saturating_sub(headers);
        if packet.outgoing && payload > 0 {
            let (first, _, bytes) = found.unwrap_or((packet.time_ns, 0, 0));
            found = Some((first, packet.time_ns, bytes + payload));
        }
    })
    .unwrap();
    let (first, last, bytes) = found.expect("packets with payload");
    bytes as f64 * 8e9 / (last - first) as f64
}

#[test]
#[ignore = "make iperf3 runs it"]
fn tcp_has_the_goodput_of_iperf3_through_the_same_path() {
    let ours = perform(&bottleneck(SERVER, CLIENT));
    assert_eq!(ours.report.outcome, Outcome::Done);

    let mut theirs = bottleneck("", "");
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    theirs.server.command = words("iperf3 --server --port 443 --one-off --bind 193.167.100.100");
    theirs.client.command = words("iperf3 --client server4 --port 443 --reverse --json --bytes");
    theirs.client.command.push(SIZE.to_string());
    theirs.transfer.names.clear();
    let theirs = perform(&theirs);
    let said = String::from_utf8_lossy(&theirs.blobs["client/stdout"]).into_owned();
    // Its server ends by itself when the test is over.
    assert!(
        matches!(theirs.report.outcome, Outcome::Done | Outcome::ServerEnded),
        "{:?}: {said}",
        theirs.report.outcome
    );
    let json: serde_json::Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    let reported = json["end"]["sum_received"]["bits_per_second"].as_f64().unwrap();

    let [ours, theirs] = [&ours, &theirs].map(goodput);
    println!(
        "goodput behind the bottleneck: {ours:.0} bit/s, iperf3 {theirs:.0} bit/s; iperf3 says {reported:.0} bit/s"
    );
    // 1448 of 1514 bytes are payload.
    let most = RATE_MBIT as f64 * 1e6 * 1448.0 / 1514.0;
    for goodput in [ours, theirs] {
        assert!((0.9..1.005).contains(&(goodput / most)), "{goodput} bit/s, at most {most}");
    }
    assert!((0.95..1.05).contains(&(ours / theirs)), "{ours} bit/s, iperf3 {theirs} bit/s");
}
