//! The forwarder beside other ways to move packets between the same two interfaces, all in one run.
//!
//! `cargo bench -p quiclab-agent --bench forwarder -- [SECONDS]`. Makes namespaces of its own and needs no root where the kernel allows
//! user namespaces. The sender has one core and what moves packets the other one; both should be idle. `FORWARDER_OTHER` names
//! another program to compare with (see [`movers::Other`]).

mod load;
mod movers;
mod seen;

use std::{fs, thread::sleep, time::Duration};

use anyhow::{Context, Result};
use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, unshare};
use nix::unistd::{Pid, getgid, getuid};
use quiclab_agent::{namespace::Namespace, settling::Settling, topology::Topology};
use quiclab_agent_protocol::forwarder::RealTime;

use self::{
    load::{Frames, Load},
    movers::{Bare, Forwarding, Mover, Other, Tun},
    seen::Seen,
};

/// Cores of the sender, and of what moves packets.
const SENDER_CPU: usize = 0;
const MOVER_CPU: usize = 1;
/// The delay of the path in the measurement of delays, where something can delay at all.
const DELAY: Duration = Duration::from_millis(2);

fn main() -> Result<()> {
    let seconds = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(0.5);
    let length = Duration::from_secs_f64(seconds);
    own_namespaces()?;
    let [server, client] = [Namespace::create("server")?, Namespace::create("client")?];
    let topology = Topology::build(server, client, Settling::Hurried)?;

    println!(
        "{:46} {:>34}   {:>20}   {:>32}   {:>43}",
        "",
        "delay error at 1 Gbit/s of 1514 B",
        "super-packets, 5 Gbit/s",
        "as many super-packets as go",
        "as many packets of 1514 B as go"
    );
    println!(
        "{:46} {:>10} {:>11} {:>11}   {:>11} {:>11}   {:>8} {:>11} {:>11}   {:>9} {:>11} {:>11} {:>9}",
        "",
        "median",
        "99.9 %",
        "not moved",
        "not moved",
        "ring full",
        "Gbit/s",
        "not moved",
        "ring full",
        "packets/s",
        "not moved",
        "ring full",
        "CPU each"
    );
    let own = |delay, spin_ns| Forwarding { delay, real_time: RealTime { spin_ns, ..RealTime::default() } };
    let wire = &topology.wire;
    compare("kernel, tc mirred", wire, &topology, length, || Ok(Mover::kernel()))?;
    topology.stop_forwarding()?;
    for spin_us in [0, 20, 50, 100] {
        let name = format!("forwarder, {} ms delay, watching {spin_us} us", DELAY.as_millis());
        compare(&name, wire, &topology, length, || own(DELAY, spin_us * 1000).start(&topology))?;
    }
    compare("forwarder, no stages", wire, &topology, length, || own(Duration::ZERO, 0).start(&topology))?;
    for (has_ring, name) in [(false, "recvmmsg"), (true, "receive ring")] {
        for (is_busy, manner) in [(false, "polling"), (true, "busy")] {
            let name = format!("sockets without stages, {name}, {manner}");
            compare(&name, wire, &topology, length, || Bare { has_ring, is_busy }.start(wire))?;
        }
    }
    if let Some(other) = Other::named() {
        compare(&other.name(), wire, &topology, length, || other.start(wire, DELAY))?;
    }
    let [server, client] = [Namespace::create("server")?, Namespace::create("client")?];
    let tun = Topology { server, client, wire: Namespace::create("wire")? };
    match Tun::open(&tun) {
        Ok(devices) => {
            compare("TUN (IFF_VNET_HDR), busy", &tun.server, &tun, length, || devices.start())?;
        }
        Err(error) => println!("TUN: not measured: {error:#}"),
    }
    match movers::load_xdp_program() {
        Ok(()) => println!("AF_XDP: not measured: this kernel allows it, and it cannot carry super-packets"),
        Err(error) => println!("AF_XDP: not measured: {error:#}"),
    }
    Ok(())
}

/// One line of the table. Packets are seen where they come in, at `entrance` of its namespace, and at the client.
fn compare(
    name: &str,
    entrance: &Namespace,
    topology: &Topology,
    length: Duration,
    start: impl Fn() -> Result<Mover>,
) -> Result<()> {
    let mut line = format!("{name:46}");
    for load in [
        Load { frames: Frames::Packets, bits_per_second: Some(1e9) },
        Load { frames: Frames::SuperPackets, bits_per_second: Some(5e9) },
        Load { frames: Frames::SuperPackets, bits_per_second: None },
        Load { frames: Frames::Packets, bits_per_second: None },
    ] {
        pin(MOVER_CPU)?;
        let mover = start().with_context(|| format!("starting {name}"))?;
        pin(SENDER_CPU)?;
        sleep(Duration::from_millis(50));
        let mut seen = Seen::begin(entrance, topology, load.is_timed().then_some(length))?;
        let sent = load.send(&topology.server, length)?;
        seen.stop_counting(topology)?;
        sleep(mover.delay + Duration::from_millis(50));
        let found = seen.end(topology, mover.delay)?;
        line += &found.in_words(&load, &sent, mover.stop()?);
    }
    println!("{line}");
    Ok(())
}

/// User and network namespaces in which this program may do all it needs.
fn own_namespaces() -> Result<()> {
    let (user, group) = (getuid(), getgid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).context("user namespace")?;
    for (file, text) in
        [("setgroups", "deny".to_owned()), ("uid_map", format!("0 {user} 1")), ("gid_map", format!("0 {group} 1"))]
    {
        fs::write(format!("/proc/self/{file}"), text).with_context(|| format!("/proc/self/{file}"))?;
    }
    Ok(())
}

/// The calling thread, and those that it starts, stay on this core.
fn pin(cpu: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu)?;
    sched_setaffinity(Pid::from_raw(0), &set).with_context(|| format!("core {cpu}"))
}
