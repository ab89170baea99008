//! `quiclab-agent serve` performs runs in namespaces of this host, and leaves nothing behind.

use std::{collections::BTreeSet, fs, io::Read, net::Ipv4Addr};

use crate::common::{Answer, CLIENT, SEED, SERVER, SIZE, Servant, orders, perform};
use quiclab_agent_protocol::{
    addresses::{CLIENT_ADDRESS, SERVER_ADDRESS},
    contents::Contents,
    forwarder::{Forwarder, RealTime},
    network::Discipline,
    orders::{HostFiles, Machine, Orders},
    report::{CpuUser, Outcome},
    ring::for_each_packet,
};
use quiclab_testing::{has_namespaces, wait_until};

/// Time in ns, whether it left, EtherType, source address of each packet of a tap.
fn packets(answer: &Answer, tap: usize) -> Vec<(u64, bool, u16, Option<Ipv4Addr>)> {
    let report = &answer.report.taps[tap];
    let mut found = Vec::new();
    let ring = &answer.blobs[&format!("tap/{}", report.name)];
    for_each_packet(ring, report.block_bytes as usize, |packet| {
        let kind = u16::from_be_bytes(packet.bytes[12..14].try_into().unwrap());
        let source = packet.bytes[26..30].try_into().map(|bytes: [u8; 4]| Ipv4Addr::from(bytes));
        found.push((packet.time_ns, packet.outgoing, kind, source.ok()));
    })
    .unwrap();
    assert_eq!(found.len() as u64, report.packets_seen);
    found
}

fn contents() -> Vec<u8> {
    let mut bytes = Vec::new();
    Contents::new(SEED, SIZE).read_to_end(&mut bytes).unwrap();
    bytes
}

fn text(answer: &Answer, name: &str) -> String {
    String::from_utf8(answer.blobs[name].clone()).unwrap()
}

#[test]
fn a_transfer_over_a_token_bucket_is_captured_and_takes_its_time() {
    if !has_namespaces() {
        return;
    }
    const RATE: u64 = 5_000_000;
    const BURST: u32 = 3_000;
    let mut orders = orders(SERVER, CLIENT);
    orders.network.to_client =
        vec![Discipline::Tbf { rate_bytes_per_second: RATE, burst_bytes: BURST, limit_bytes: 100_000 }];
    let answer = perform(&orders);
    let report = &answer.report;
    assert_eq!(report.outcome, Outcome::Done, "{}", text(&answer, "client/stderr"));
    assert_eq!(answer.blobs["download/file"], contents());
    assert_eq!(text(&answer, "client/stdout"), "fetched\n");
    assert!(report.drained && report.lost_logs.is_empty() && report.cut.is_empty());
    assert_eq!(report.client.as_ref().unwrap().exit_code, Some(0));

    // A token bucket lets through its burst and then no more than its rate.
    let behind = packets(&answer, 1);
    let left: Vec<u64> = behind.iter().filter(|packet| packet.1).map(|packet| packet.0).collect();
    let passed = report.qdiscs.iter().find(|queue| queue.kind == "tbf").unwrap();
    assert_eq!((passed.packets as usize, passed.handle.as_str()), (left.len(), "1:0"));
    let took_ns = left.last().unwrap() - left.first().unwrap();
    let least_ns = (passed.bytes - u64::from(BURST)) * 1_000_000_000 / RATE;
    assert!(took_ns as f64 > 0.99 * least_ns as f64, "{took_ns} ns, at least {least_ns} ns");

    // Nothing but the transfer is on the wire: no ARP, no neighbour discovery, no reports of multicast groups.
    for tap in 0..2 {
        let sources: BTreeSet<_> = packets(&answer, tap).into_iter().map(|packet| (packet.2, packet.3)).collect();
        assert_eq!(sources, [CLIENT_ADDRESS, SERVER_ADDRESS].map(|address| (0x0800, Some(address))).into());
    }
    let off = report.offloads.values().all(|found| !found.tcp_segmentation && !found.generic_segmentation);
    assert!(off && report.offloads.len() == 4, "{:?}", report.offloads);
}

/// Orders for a transfer whose packets the agent moves through `to_client`.
fn forwarded(to_client: &[&str]) -> Orders {
    let mut orders = orders(SERVER, CLIENT);
    orders.network.longest_delay_ns = 10_000_000;
    orders.network.forwarder = Some(Forwarder {
        to_client: to_client.iter().map(|text| toml::from_str(text).unwrap()).collect(),
        to_server: vec![toml::from_str("stage = \"delay\"\nname = \"back\"\ndelay = \"5 ms\"\n").unwrap()],
        seed: 1,
        reads_packets_of_port: None,
        real_time: None,
    });
    orders
}

#[test]
fn packets_that_the_agent_moves_in_user_space_are_delayed_lost_and_counted() {
    if !has_namespaces() {
        return;
    }
    let answer = perform(&forwarded(&[
        "stage = \"loss\"\nname = \"holes\"\nmodel = \"rule\"\nevery = 40\n",
        "stage = \"delay\"\nname = \"there\"\ndelay = \"5 ms\"\n",
    ]));
    let report = &answer.report;
    assert_eq!(report.outcome, Outcome::Done, "{}", text(&answer, "client/stderr"));
    assert_eq!(answer.blobs["download/file"], contents());
    let forwarder = report.forwarder.as_ref().unwrap();
    let [sent, behind] = [0, 1].map(|tap| packets(&answer, tap).into_iter().filter(|one| one.1).collect::<Vec<_>>());
    let [holes, there] = &forwarder.to_client[..] else { panic!("{forwarder:?}") };
    assert_eq!((holes.packets_entered(), there.packets_passed), (sent.len() as u64, behind.len() as u64));
    assert_eq!(holes.drops, [("rule".to_owned(), sent.len() as u64 / 40)].into());
    assert_eq!(forwarder.drops.len() as u64, holes.packets_entered() - there.packets_passed);
    assert!(sent.len() > 700 && report.drained && report.qdiscs.is_empty(), "{report:?}");
    // The first packet of the server passes, and no packet is early.
    assert!(behind[0].0 - sent[0].0 >= 5_000_000, "{:?} {:?}", sent[0], behind[0]);
    assert_eq!(forwarder.lateness.unwrap().packets, there.packets_passed + forwarder.to_server[0].packets_passed);
}

#[test]
fn packets_that_the_agent_moves_in_real_time_are_delayed_lost_and_counted() {
    if !has_namespaces() {
        return;
    }
    let mut orders = forwarded(&[
        "stage = \"loss\"\nname = \"holes\"\nmodel = \"rule\"\nevery = 40\n",
        "stage = \"delay\"\nname = \"there\"\ndelay = \"5 ms\"\n",
    ]);
    let real_time = RealTime { largest_frame_bytes: 1514, ..RealTime::default() };
    orders.network.forwarder.as_mut().unwrap().real_time = Some(real_time);
    let answer = perform(&orders);
    let report = &answer.report;
    assert_eq!(report.outcome, Outcome::Done, "{}", text(&answer, "client/stderr"));
    assert_eq!(answer.blobs["download/file"], contents());
    let forwarder = report.forwarder.as_ref().unwrap();
    let [sent, behind] = [0, 1].map(|tap| packets(&answer, tap).into_iter().filter(|one| one.1).collect::<Vec<_>>());
    let [holes, there] = &forwarder.to_client[..] else { panic!("{forwarder:?}") };
    assert_eq!((holes.packets_entered(), there.packets_passed), (sent.len() as u64, behind.len() as u64));
    assert_eq!(holes.drops, [("rule".to_owned(), sent.len() as u64 / 40)].into());
    // Segmentation is off at all interfaces.
    assert_eq!(forwarder.super_packets, None);
    assert!(behind[0].0 - sent[0].0 >= 5_000_000, "{:?} {:?}", sent[0], behind[0]);
    assert_eq!(forwarder.lateness.unwrap().packets, there.packets_passed + forwarder.to_server[0].packets_passed);
}

#[test]
fn a_forwarder_that_fails_fails_the_run_at_once_and_its_capture_is_kept() {
    if !has_namespaces() {
        return;
    }
    // A queue is in front of what it waits for.
    let stage = "stage = \"queue\"\nname = \"lonely\"\ndiscipline = \"drop_tail\"\nlimit = \"9 packets\"\n";
    let answer = perform(&forwarded(&[stage]));
    let Outcome::AgentFailed { error } = &answer.report.outcome else { panic!("{:?}", answer.report.outcome) };
    assert!(error.starts_with("the forwarder, which moves packets in user space, has failed"), "{error}");
    assert!(error.contains("lonely"), "{error}");
    assert_eq!(answer.report.taps.len(), 2);
    assert!(packets(&answer, 1).iter().all(|packet| !packet.1), "nothing was forwarded");
    assert!(answer.report.client_lifetime_ns < Some(20_000_000_000), "{:?}", answer.report.client_lifetime_ns);
}

#[test]
fn the_cpu_time_is_that_of_the_endpoints() {
    if !has_namespaces() {
        return;
    }
    let busy = "
import time
while time.process_time() < 0.5:
    pass
";
    let answer = perform(&orders(SERVER, busy));
    assert_eq!(answer.report.outcome, Outcome::Done);
    let used = answer.report.cpu_use.unwrap();
    let client = answer.report.client.unwrap();
    let lifetime = answer.report.client_lifetime_ns.unwrap();
    assert_eq!(used.of, CpuUser::Endpoints);
    // One thread for half a second, and what starting it costs; the server waits. Ticks round down.
    assert!((470_000_000..1_500_000_000).contains(&used.time_ns), "{used:?}");
    assert!(used.time_ns.abs_diff(client.user_time_ns + client.system_time_ns) <= 50_000_000, "{used:?}, {client:?}");
    // The client is busy for all of its life, on one CPU of however many the machine has.
    let share = (used.time_ns as f64 / lifetime as f64).min(1.0);
    assert!((used.share - share).abs() < 1e-9, "{used:?}");
}

#[test]
fn orders_are_answered_one_after_the_other_and_lines_that_are_none_as_well() {
    if !has_namespaces() {
        return;
    }
    let mut servant = Servant::start();
    let mut other = orders(SERVER, "import sys; sys.exit(127)");
    other.machine = Some(Machine {
        entropy: vec![0; 32],
        receive_buffer_bytes: 1,
        send_buffer_bytes: 1,
        count_send_sizes: false,
        tcp_hystart: None,
        thefts: None,
    });
    let failed = |answer: Answer| match answer.report.outcome {
        Outcome::AgentFailed { error } => error,
        other => panic!("{other:?}"),
    };
    servant.ask("{}");
    assert!(failed(servant.answer()).contains("missing field"));
    servant.ask(&serde_json::to_string(&other).unwrap());
    assert!(failed(servant.answer()).contains("whole machine"));
    other.machine = None;
    for _ in 0..2 {
        servant.ask(&serde_json::to_string(&other).unwrap());
        assert_eq!(servant.answer().report.outcome, Outcome::Unsupported { role: "client".to_owned() });
    }
    other.server.host = Some(HostFiles { root: None, stack: Some("/no/such/folder".to_owned()) });
    servant.ask(&serde_json::to_string(&other).unwrap());
    assert!(failed(servant.answer()).contains("/no/such/folder: no such folder"));
    other.network.to_client = vec![Discipline::GsoPace { clock: quiclab_agent_protocol::network::Clock::Tai }];
    other.server.host = None;
    servant.ask(&serde_json::to_string(&other).unwrap());
    assert!(failed(servant.answer()).contains("qdisc gso_pace"));
}

#[test]
fn an_endpoint_sees_the_host_read_only_and_its_own_folders() {
    if !has_namespaces() {
        return;
    }
    let stack = tempfile::tempdir().unwrap();
    fs::write(stack.path().join("program.py"), "print('from the stack')\n").unwrap();
    let client = "
import os, subprocess
subprocess.run(['python3', '/stack/program.py'], check=True)
for path in ['/usr/file', '/etc/file', '/stack/file', '/file', '/certs/../home/file']:
    try:
        open(path, 'w')
        print('wrote', path)
    except OSError as error:
        pass
print(open('/certs/ca.pem').read(), os.path.exists('/www'), os.getpid() < 100, sorted(os.listdir('/downloads')))
open('/downloads/file', 'w')
open('/tmp/written-by-a-client-3f5', 'w')
";
    let mut orders = orders(SERVER, client);
    orders.client.host = Some(HostFiles { root: None, stack: Some(stack.path().to_str().unwrap().to_owned()) });
    orders.files =
        vec![quiclab_agent_protocol::orders::File { path: "/certs/ca.pem".to_owned(), text: "certificate".to_owned() }];
    let answer = perform(&orders);
    assert_eq!(answer.report.outcome, Outcome::Done, "{}", text(&answer, "client/stderr"));
    let said = text(&answer, "client/stdout");
    assert_eq!(said, "from the stack\ncertificate False True []\n");
    assert!(!fs::exists("/tmp/written-by-a-client-3f5").unwrap());
    assert!(answer.report.client.unwrap().stray_files.is_empty());
}

#[test]
fn what_an_endpoint_leaves_behind_is_counted_and_ended() {
    if !has_namespaces() {
        return;
    }
    let marker = "daemon-of-a-server-3f1";
    let server = format!(
        "
import subprocess
subprocess.Popen(['python3', '-c', 'import time; time.sleep(1000)', '{marker}'], start_new_session=True)
{SERVER}"
    );
    let answer = perform(&orders(&server, CLIENT));
    assert_eq!(answer.report.outcome, Outcome::Done);
    assert_eq!(answer.report.server.unwrap().processes_left, 1);
    assert!(processes_with(marker).is_empty());
}

#[test]
fn a_client_that_hangs_is_ended_in_time() {
    if !has_namespaces() {
        return;
    }
    let mut orders = orders(SERVER, "import time; time.sleep(1000)");
    orders.transfer.timeout_ns = 300_000_000;
    let answer = perform(&orders);
    assert_eq!(answer.report.outcome, Outcome::ClientTimeout);
    assert!(answer.report.client_lifetime_ns.unwrap() >= 300_000_000);
}

/// Processes whose command line holds `text`.
fn processes_with(text: &str) -> Vec<String> {
    let holds = |entry: &fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(text)
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter(holds).map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Starts a run that never ends, ends the agent in some way, and looks for what is left.
fn nothing_is_left_when(marker: &str, end: impl FnOnce(&mut Servant)) {
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    let interfaces = || fs::read_dir("/sys/class/net").unwrap().count();
    let before = (mounts(), interfaces());
    let mut servant = Servant::start();
    let client = format!("marker = '{marker}'\nimport os, time\nif os.fork() == 0:\n    os.setsid()\ntime.sleep(1000)");
    servant.ask(&serde_json::to_string(&orders(SERVER, &client)).unwrap());
    wait_until("the client to start", || processes_with(marker).len() == 2);
    let namespace = fs::read_link(format!("/proc/{}/ns/net", processes_with(marker)[0])).unwrap();
    assert_ne!(namespace, fs::read_link("/proc/self/ns/net").unwrap());
    let session = |process: Option<&String>| {
        nix::unistd::getsid(process.map(|number| nix::unistd::Pid::from_raw(number.parse().unwrap()))).unwrap()
    };
    let elsewhere = processes_with(marker).iter().all(|process| session(Some(process)) != session(None));
    assert!(elsewhere, "an endpoint could type on the terminal of the agent's user");
    assert_eq!((mounts(), interfaces()), before, "while it runs nothing of it is seen outside");
    end(&mut servant);
    assert!(!servant.end().success());
    wait_until("its processes to end", || processes_with(marker).is_empty());
    let is_used =
        |entry: &fs::DirEntry| fs::read_link(entry.path().join("ns/net")).is_ok_and(|other| other == namespace);
    assert_eq!(fs::read_dir("/proc").unwrap().flatten().filter(is_used).count(), 0);
    assert_eq!((mounts(), interfaces()), before);
}

fn signal(servant: &Servant, signal: nix::sys::signal::Signal) {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(servant.process.id() as i32), signal).unwrap();
}

#[test]
fn nothing_is_left_after_sigterm() {
    if !has_namespaces() {
        return;
    }
    nothing_is_left_when("run-ended-by-sigterm-3f2", |servant| signal(servant, nix::sys::signal::Signal::SIGTERM));
}

#[test]
fn nothing_is_left_after_sigkill() {
    if !has_namespaces() {
        return;
    }
    nothing_is_left_when("run-ended-by-sigkill-3f3", |servant| signal(servant, nix::sys::signal::Signal::SIGKILL));
}

#[test]
fn nothing_is_left_when_the_connection_breaks() {
    if !has_namespaces() {
        return;
    }
    // A broken connection closes both.
    nothing_is_left_when("run-without-a-reader-3f4", |servant| {
        servant.input = None;
        servant.output = None;
    });
}
