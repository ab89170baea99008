//! The forwarder on a real clock, between interfaces of this kernel, and segmentation beside the kernel's own.
//!
//! Each test runs in user and network namespaces of its own, so that it needs no root where the kernel allows these.

use std::{
    io,
    os::unix::process::CommandExt,
    process::{Command, Output},
    time::{Duration, Instant},
};

use quiclab_agent::{
    ethtool,
    forwarder::{
        Forwarder,
        frame::Frame,
        socket::{MOST_BYTES, Socket},
    },
    namespace::Namespace,
    settling::Settling,
    topology::Topology,
};
use quiclab_agent_protocol::{
    addresses::{CLIENT_MAC, HOST_INTERFACE, SERVER_MAC, TO_CLIENT, TO_SERVER},
    forwarder::{Forwarder as Order, ForwarderReport, RealTime, SuperPackets},
};
use quiclab_testing::{skip, wait_until};
use quiclab_wire::offload::{
    checksum::{complete_ipv4, folded, sum},
    header::{HEADER_BYTES, complete_checksum, of_super_packet},
};

/// Ends a test that hangs; it measures nothing.
const HANG: Duration = Duration::from_secs(300);

const INSIDE: &str = "QUICLAB_TEST_INSIDE";

/// Runs `work` in a child of this program that has namespaces of its own: this very test, again.
fn in_namespaces(test: &str, work: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return work();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("real_time::{test}"), "--exact", "--nocapture"]).env(INSIDE, "1");
    let maps = [("uid_map", nix::unistd::getuid().as_raw()), ("gid_map", nix::unistd::getgid().as_raw())]
        .map(|(file, id)| (format!("/proc/self/{file}"), format!("0 {id} 1")));
    // SAFETY: the child has one thread, and nothing here waits for a lock that another thread could have held.
    unsafe {
        command.pre_exec(move || {
            if libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) != 0 {
                return Err(io::Error::last_os_error());
            }
            std::fs::write("/proc/self/setgroups", "deny")?;
            maps.iter().try_for_each(|(file, text)| std::fs::write(file, text))
        })
    };
    let Output { status, stdout, stderr } = match command.output() {
        Err(error) => return skip(format_args!("this user cannot make user and network namespaces: {error}")),
        Ok(output) => output,
    };
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    eprint!("{stderr}");
    // A name that fits no test would succeed, too.
    assert!(
        status.success() && stdout.contains("1 passed"),
        "{status}
{stdout}"
    );
}

fn topology() -> Topology {
    let [server, client] = ["server", "client"].map(|name| Namespace::create(name).unwrap());
    Topology::build(server, client, Settling::Hurried).unwrap()
}

/// Makes a namespace as a new one is on a machine that forwards packets and filters their sources.
fn as_on_a_router(namespace: &Namespace) {
    let set = namespace.inside(|| {
        for path in ["ipv4/conf/all/forwarding", "ipv4/conf/default/rp_filter", "ipv6/conf/all/forwarding"] {
            std::fs::write(format!("/proc/sys/net/{path}"), "1")?;
        }
        Ok(())
    });
    set.unwrap();
}

/// How many frames the kernel has received at the host's interface.
fn arrived(namespace: &Namespace) -> u64 {
    let text = namespace.inside(|| Ok(std::fs::read_to_string("/proc/thread-self/net/dev")?)).unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(HOST_INTERFACE)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).expect("a counter of frames")
}

fn host(namespace: &Namespace) -> Socket {
    namespace.inside(|| Socket::open(HOST_INTERFACE, None)).unwrap()
}

/// The first `count` of what comes, as buffers with complete checksums; the clock says when each was there.
fn received(socket: &mut Socket, count: usize) -> Vec<(Instant, Vec<u8>)> {
    let (mut buffers, mut found) = (vec![0; 8 * MOST_BYTES], Vec::new());
    let start = Instant::now();
    while found.len() < count {
        assert!(start.elapsed() < HANG, "hung: {} of {count} buffers in five minutes", found.len());
        let visit = |_, bytes: &[u8]| {
            // IPv4 to and from the addresses of `packet`, and IPv6 of the same.
            if bytes[HEADER_BYTES + 6..HEADER_BYTES + 12] == SERVER_MAC {
                let mut bytes = bytes.to_vec();
                complete_checksum(&mut bytes);
                found.push((Instant::now(), bytes));
            }
            Ok(())
        };
        socket.receive(&mut buffers, visit).unwrap();
    }
    found
}

/// A frame of many packets from the server.
fn super_packet(is_ipv4: bool, is_tcp: bool, payload: usize, segment_bytes: u16, number: u16) -> Frame {
    let (kind, field) = match (is_tcp, is_ipv4) {
        (true, true) => (1, 16),
        (true, false) => (4, 16),
        (false, _) => (5, 6),
    };
    let transport = if is_ipv4 { 34 } else { 54 };
    // TCP with options and the flags CWR, ACK, PSH and FIN, of which not every packet has each.
    let above = if is_tcp { 32 } else { 8 };
    let length = (above + payload) as u16;
    let kind = if is_tcp { kind | 0x80 } else { kind };
    let mut buffer = of_super_packet(kind, segment_bytes, transport, field).to_vec();
    buffer.extend(CLIENT_MAC);
    buffer.extend(SERVER_MAC);
    let protocol = if is_tcp { 6 } else { 17 };
    let addresses: Vec<u8> = match is_ipv4 {
        true => [193, 167, 100, 100, 193, 167, 0, 77].into(),
        false => [[0xfd, 0xca, 0, 1], [0; 4], [0; 4], [0, 0, 1, 0], [0xfd, 0xca, 0, 2], [0; 4], [0; 4], [0, 0, 0, 77]]
            .concat(),
    };
    if is_ipv4 {
        buffer.extend([8, 0]);
        let mut header = vec![0x45, 2];
        header.extend((20 + length).to_be_bytes());
        header.extend(number.to_be_bytes());
        header.extend([0x40, 0, 64, protocol, 0, 0]);
        header.extend(&addresses);
        complete_ipv4(&mut header);
        buffer.extend(header);
    } else {
        buffer.extend([0x86, 0xdd, 0x60, 0x20, 0, 0]);
        buffer.extend(length.to_be_bytes());
        buffer.extend([protocol, 64]);
        buffer.extend(&addresses);
    }
    let pseudo = folded(sum(&addresses) + u64::from(length) + u64::from(protocol));
    buffer.extend(443_u16.to_be_bytes());
    buffer.extend(number.to_be_bytes());
    if is_tcp {
        buffer.extend((u32::MAX - 1000).to_be_bytes());
        buffer.extend([0, 0, 0, 1, 0x80, 0x99, 1, 0]);
        buffer.extend(pseudo.to_be_bytes());
        buffer.extend([0, 0, 1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8]);
    } else {
        buffer.extend(length.to_be_bytes());
        buffer.extend(pseudo.to_be_bytes());
    }
    buffer.extend((0..payload).map(|place| ((place * 31) >> 3) as u8));
    Frame::new(buffer).unwrap()
}

fn cut(frame: &Frame) -> Vec<Vec<u8>> {
    let complete = |packet: Frame| {
        let mut buffer = packet.buffer().to_vec();
        complete_checksum(&mut buffer);
        buffer
    };
    frame.clone().cut().unwrap().into_iter().map(complete).collect()
}

#[test]
fn super_packets_are_cut_as_the_kernel_cuts_them() {
    in_namespaces("super_packets_are_cut_as_the_kernel_cuts_them", || {
        let topology = topology();
        topology.stop_forwarding().unwrap();
        // Without segmentation offload the kernel cuts what leaves the interface.
        topology.server.inside(|| ethtool::switch_segmentation_off(HOST_INTERFACE)).unwrap();
        let from = host(&topology.server);
        let mut to = topology.wire.inside(|| Socket::open(TO_SERVER, None)).unwrap();
        // The kernel takes no super-packet of a single packet.
        let mut number = 65_500;
        for payload in [1449, 1999, 2000, 2001, 7777, 40_000, 65_000] {
            for segment_bytes in [1000, 1428, 1200 + (payload % 97) as u16] {
                for (is_ipv4, is_tcp) in [(true, true), (true, false), (false, true), (false, false)] {
                    let frame = super_packet(is_ipv4, is_tcp, payload, segment_bytes, number);
                    number = number.wrapping_add(7);
                    from.send(std::slice::from_ref(&frame)).unwrap();
                    let expected = cut(&frame);
                    let found: Vec<_> = received(&mut to, expected.len()).into_iter().map(|one| one.1).collect();
                    assert_eq!(found.len(), expected.len(), "{payload} {segment_bytes} {is_ipv4} {is_tcp}");
                    for (found, expected) in found.iter().zip(&expected) {
                        assert_eq!(found, expected, "{payload} {segment_bytes} {is_ipv4} {is_tcp}");
                    }
                }
            }
        }
    });
}

#[test]
fn hosts_on_a_machine_that_forwards_send_nothing_on() {
    in_namespaces("hosts_on_a_machine_that_forwards_send_nothing_on", || {
        let [server, client] = ["server", "client"].map(|name| Namespace::create(name).unwrap());
        [&server, &client].into_iter().for_each(as_on_a_router);
        let topology = Topology::build(server, client, Settling::Hurried).unwrap();
        for (family, name) in [("ipv4", "forwarding"), ("ipv6", "forwarding"), ("ipv4", "rp_filter")] {
            let path = format!("/proc/sys/net/{family}/conf/{HOST_INTERFACE}/{name}");
            let found = topology.client.inside(|| Ok(std::fs::read_to_string(&path)?)).unwrap();
            assert_eq!(found.trim(), "0", "{path}");
        }
        // These are for the client's neighbours. A router would ask who they are.
        let (from, mut back) =
            (host(&topology.server), topology.wire.inside(|| Socket::open(TO_CLIENT, None)).unwrap());
        from.send(&[super_packet(true, false, 1000, 1200, 1), super_packet(false, false, 1000, 1200, 1)]).unwrap();
        let mut seen = Vec::new();
        let (mut buffers, start) = (vec![0; 8 * MOST_BYTES], Instant::now());
        while start.elapsed() < Duration::from_millis(300) {
            let visit = |_, bytes: &[u8]| {
                seen.push(bytes.to_vec());
                Ok(())
            };
            back.receive(&mut buffers, visit).unwrap();
        }
        assert!(seen.is_empty(), "{seen:02x?}");
    });
}

fn order(to_client: &[&str], spin_ns: u64) -> Order {
    Order {
        to_client: to_client.iter().map(|text| toml::from_str(text).unwrap()).collect(),
        to_server: Vec::new(),
        seed: 1,
        reads_packets_of_port: None,
        real_time: Some(RealTime { spin_ns, ..RealTime::default() }),
    }
}

const DELAY: &str = "stage = \"delay\"\nname = \"delay\"\ndelay = \"20 ms\"\n";

/// Sends `frames` through a forwarder. Answers what came out within how long, and the report.
fn forwarded(order: &Order, frames: &[Frame], count: usize) -> (Vec<Vec<u8>>, Duration, ForwarderReport) {
    let topology = topology();
    topology.stop_forwarding().unwrap();
    let (from, mut to) = (host(&topology.server), host(&topology.client));
    let mut forwarder = Forwarder::open(order, Vec::new(), &topology.wire).unwrap();
    forwarder.start().unwrap();
    let start = Instant::now();
    from.send(frames).unwrap();
    let found = received(&mut to, count);
    let took = found.first().map_or(Duration::ZERO, |first| first.0 - start);
    let (report, ended) = forwarder.finish();
    ended.unwrap();
    (found.into_iter().map(|one| one.1).collect(), took, report.unwrap())
}

#[test]
fn super_packets_pass_a_delay_whole_and_none_is_early() {
    in_namespaces("super_packets_pass_a_delay_whole_and_none_is_early", || {
        let frames: Vec<_> = (0..20).map(|number| super_packet(true, false, 60_000, 1200, number)).collect();
        for spin_ns in [0, 1_000_000] {
            let (found, took, report) = forwarded(&order(&[DELAY], spin_ns), &frames, 20);
            // The header of a super-packet stays; its checksum is complete only after the receiving card has cut it.
            let expected = frames.iter().map(|frame| {
                let mut buffer = frame.buffer().to_vec();
                complete_checksum(&mut buffer);
                buffer
            });
            assert!(found.iter().eq(&expected.collect::<Vec<_>>()), "{} super-packets", found.len());
            assert!(took >= Duration::from_millis(20), "{took:?}");
            assert_eq!(report.super_packets, Some(SuperPackets { whole: 20, cut: 0, packets: 0 }));
            assert_eq!(report.lateness.unwrap().packets, 20);
        }
    });
}

#[test]
fn super_packets_are_cut_before_a_loss_and_the_others_arrive_as_packets() {
    in_namespaces("super_packets_are_cut_before_a_loss_and_the_others_arrive_as_packets", || {
        let rule = "stage = \"loss\"\nname = \"loss\"\nmodel = \"list\"\npackets = [2, 51]\n";
        let frames: Vec<_> = (0..2).map(|number| super_packet(number == 0, true, 60_000, 1200, number)).collect();
        let (found, _, report) = forwarded(&order(&[rule], 0), &frames, 98);
        let mut expected: Vec<_> = frames.iter().flat_map(cut).collect();
        expected.remove(50);
        expected.remove(1);
        assert!(found == expected, "{} packets", found.len());
        assert_eq!(report.super_packets, Some(SuperPackets { whole: 0, cut: 2, packets: 100 }));
    });
}

#[test]
fn a_forwarder_that_cannot_keep_up_fails_and_names_the_rate_that_it_carried() {
    in_namespaces("a_forwarder_that_cannot_keep_up_fails_and_names_the_rate_that_it_carried", || {
        let topology = topology();
        topology.stop_forwarding().unwrap();
        let from = host(&topology.server);
        let before = arrived(&topology.client);
        let mut forwarder = Forwarder::open(&order(&[], 0), Vec::new(), &topology.wire).unwrap();
        // It is not started yet, and its ring has room for 960 frames.
        let packets: Vec<_> = (0..1000).map(|number| super_packet(true, false, 1000, 1200, number)).collect();
        from.send(&packets).unwrap();
        forwarder.start().unwrap();
        wait_until("what the ring had room for", || arrived(&topology.client) >= before + 960);
        let (report, ended) = forwarder.finish();
        let error = format!("{:#}", ended.unwrap_err());
        assert!(error.contains("to-server: 40 frames found the forwarder's socket full"), "{error}");
        assert!(error.contains("it carried ") && error.contains(" frames/s\nhint: "), "{error}");
        assert_eq!(report.unwrap().lateness.unwrap().packets, 960);
    });
}
