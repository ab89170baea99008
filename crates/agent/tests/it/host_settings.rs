//! Settings of the interfaces and the processes of a run: the largest packet, segmentation offload, CPUs, congestion control of the kernel.

use crate::common::{Answer, CLIENT, SERVER, orders, perform};
use quiclab_agent_protocol::{
    forwarder::{Forwarder, LARGEST_SUPER_PACKET_BYTES, RealTime},
    orders::Orders,
    report::Outcome,
    ring::for_each_packet,
};
use quiclab_path::spec::StageSpec;
use quiclab_testing::has_namespaces;
use quiclab_wire::offload::header::is_super_packet;

fn quick_orders(client: &str) -> Orders {
    let mut orders = orders(SERVER, client);
    orders.has_ipv6 = false;
    orders
}

/// A forwarder that delays, and where `cuts`, also treats packets one by one.
fn forwarder(largest_frame_bytes: u32, cuts: bool) -> Forwarder {
    let stage = |text: &str| toml::from_str::<StageSpec>(text).unwrap();
    let delay = |name: &str| stage(&format!("stage = \"delay\"\nname = \"{name}\"\ndelay = \"2 ms\"\n"));
    let loss = stage("stage = \"loss\"\nname = \"seldom\"\nmodel = \"rule\"\nevery = 4000000000\n");
    Forwarder {
        to_client: cuts.then_some(loss).into_iter().chain([delay("there")]).collect(),
        to_server: vec![delay("back")],
        seed: 1,
        reads_packets_of_port: None,
        real_time: Some(RealTime { largest_frame_bytes, ..RealTime::default() }),
    }
}

fn done(answer: &Answer) {
    let said = String::from_utf8_lossy(&answer.blobs["client/stderr"]);
    assert_eq!(answer.report.outcome, Outcome::Done, "{said}");
    assert!(answer.report.taps.iter().all(|tap| tap.packets_lost == 0), "{:?}", answer.report.taps);
}

/// Length of the longest frame that left at a tap, and how many super-packets left there.
fn longest(answer: &Answer, tap: usize) -> (u32, u32) {
    let report = &answer.report.taps[tap];
    let mut found = (0, 0);
    for_each_packet(&answer.blobs[&format!("tap/{}", report.name)], report.block_bytes as usize, |packet| {
        if packet.outgoing {
            let is_super = report.has_headers && is_super_packet(packet.header);
            found = (packet.original_length.max(found.0), found.1 + u32::from(is_super));
        }
    })
    .unwrap();
    found
}

#[test]
fn packets_are_as_long_as_the_mtu_allows_by_the_kernel_and_by_the_forwarder() {
    if !has_namespaces() {
        return;
    }
    for mtu in [1280, 9000] {
        for by_forwarder in [false, true] {
            let mut orders = quick_orders(CLIENT);
            orders.network.mtu = Some(mtu);
            orders.network.forwarder = by_forwarder.then(|| forwarder(mtu + 14, true));
            let answer = perform(&orders);
            done(&answer);
            for tap in [0, 1] {
                assert_eq!(longest(&answer, tap), (mtu + 14, 0), "by_forwarder: {by_forwarder}");
            }
        }
    }
}

#[test]
fn an_mtu_that_an_interface_does_not_take_is_an_error_of_that_setting() {
    if !has_namespaces() {
        return;
    }
    let mut orders = quick_orders(CLIENT);
    orders.network.mtu = Some(70_000);
    let Outcome::AgentFailed { error } = perform(&orders).report.outcome else { panic!("expected a refusal") };
    assert!(error.contains("path.mtu: ") && error.contains("takes no packets of 70000 bytes"), "{error}");
}

#[test]
fn super_packets_pass_a_delay_whole_and_are_cut_for_other_stages() {
    if !has_namespaces() {
        return;
    }
    for cuts in [false, true] {
        let mut orders = quick_orders(CLIENT);
        orders.network.super_packets = true;
        orders.network.forwarder = Some(forwarder(LARGEST_SUPER_PACKET_BYTES, cuts));
        let answer = perform(&orders);
        done(&answer);
        let offloads = &answer.report.offloads;
        assert!(offloads.values().all(|found| found.tcp_segmentation && found.udp_segmentation), "{offloads:?}");
        let [sender, behind] = [0, 1].map(|tap| longest(&answer, tap));
        assert!(sender.0 > 20_000 && sender.1 > 10, "{sender:?}");
        let counts = answer.report.forwarder.as_ref().unwrap().super_packets.unwrap();
        if cuts {
            assert_eq!(behind, (1514, 0));
            assert!(
                counts.whole == 0 && counts.cut >= u64::from(sender.1) && counts.packets > 2 * counts.cut,
                "{counts:?}"
            );
        } else {
            assert_eq!(behind, sender);
            assert!(counts.cut == 0 && counts.whole >= u64::from(sender.1), "{counts:?}");
        }
    }
}

#[test]
fn endpoints_run_on_the_cpus_that_they_are_given() {
    if !has_namespaces() {
        return;
    }
    let client = format!("import os\nprint(sorted(os.sched_getaffinity(0)))\n{CLIENT}");
    let mut orders = quick_orders(&client);
    orders.cpus.client = vec![0];
    orders.cpus.forwarder = vec![0];
    orders.network.forwarder = Some(forwarder(1514, false));
    let answer = perform(&orders);
    done(&answer);
    assert_eq!(answer.blobs["client/stdout"], b"[0]\nfetched\n");

    orders.cpus.forwarder = vec![1023];
    let Outcome::AgentFailed { error } = perform(&orders).report.outcome else { panic!("expected a refusal") };
    assert!(error.contains("hosts.forwarder_cpus"), "{error}");
}

#[test]
fn the_kernel_uses_the_congestion_control_of_the_route_whatever_sockets_may_choose() {
    if !has_namespaces() {
        return;
    }
    let server = SERVER.replace(
        "    name =",
        "    print(connection.getsockopt(socket.IPPROTO_TCP, 13, 16).rstrip(bytes(1)).decode(), flush=True)\n    name =",
    );
    let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    for algorithm in known.split_ascii_whitespace() {
        let mut orders = quick_orders(CLIENT);
        orders.server.command[2] = server.clone();
        orders.network.tcp_congestion_control = Some(algorithm.to_owned());
        let answer = perform(&orders);
        done(&answer);
        assert_eq!(String::from_utf8_lossy(&answer.blobs["server/stdout"]).trim(), algorithm);
    }
}
