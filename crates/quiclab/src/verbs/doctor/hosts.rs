//! `quiclab doctor --hosts`: whether runs can happen on the hosts of an inventory, and what they can measure there.

use std::path::Path;

use anyhow::Result;
use quiclab_agent_protocol::hosts::{HostFacts, InterfaceFacts};
use quiclab_record::OffsetSeen;
use quiclab_testbed::hosts::checkup::{HostCheckup, Reached, look};

use super::{Check, absent, bad, good};

/// Packets of a run have up to this many bytes.
const LEAST_MTU: u32 = 1500;
/// Room for the files of a few stacks.
const WANTED_DISK_BYTES: u64 = 1 << 30;

/// Looks at all hosts of the file.
///
/// # Errors
/// Where the file makes no sense, or this machine lacks the agent.
pub fn check(file: &Path) -> Result<Vec<Check>> {
    let found = look(file)?;
    let mut checks: Vec<Check> = found.hosts.iter().flat_map(host).collect();
    checks.push(match found.link {
        Some(Ok(offset)) => between(&offset),
        Some(Err(why)) => refused("packets between the hosts", &why),
        None => bad(
            "packets between the hosts",
            "not tried, because a host cannot be used".to_owned(),
            "what is said of that host".to_owned(),
        ),
    });
    Ok(checks)
}

fn host(host: &HostCheckup) -> Vec<Check> {
    let name = |what: &str| format!("{}: {what}", host.label);
    let reached = match &host.found {
        Ok(reached) => reached,
        Err(why) => return vec![refused(&name("ssh"), why)],
    };
    let Reached { facts, had_agent, round_trip, .. } = reached;
    let mut checks = vec![
        good(&name("ssh"), format!("connected; round trip {:.1} ms", round_trip.as_secs_f64() * 1e3)),
        if facts.is_root {
            good(&name("root"), if host.by_sudo { "by sudo" } else { "yes" }.to_owned())
        } else {
            let remedy = "ssh = \"root@HOST\", or sudo = true where sudo asks for no password";
            bad(&name("root"), "an ordinary user".to_owned(), remedy.to_owned())
        },
        good(
            &name("agent"),
            format!("{} in {}", if *had_agent { "was there already" } else { "copied just now" }, facts.folder),
        ),
        good(&name("kernel"), format!("{}; {}", facts.kernel, facts.cpus)),
        match &facts.no_namespaces {
            None => good(&name("namespaces"), "work".to_owned()),
            Some(why) => refused(&name("namespaces"), why),
        },
        disciplines(&name("queueing disciplines"), facts),
        room(&name("disk"), facts),
        clock(&name("clock"), facts),
    ];
    for wanted in &host.interfaces {
        checks.extend(interface(&host.label, wanted, facts));
    }
    checks
}

/// What ssh or an agent said, whose last line may be a hint.
fn refused(name: &str, why: &str) -> Check {
    let (found, remedy) = why.split_once("\nhint: ").unwrap_or((why, "look at this host by hand"));
    bad(name, found.trim().replace('\n', "; "), remedy.replace('\n', " "))
}

fn disciplines(name: &str, facts: &HostFacts) -> Check {
    match &facts.missing_disciplines[..] {
        [] => good(name, "all".to_owned()),
        missing => absent(
            name,
            format!("no {}", missing.join(", ")),
            missing.iter().map(|one| format!("modprobe sch_{one}")).collect::<Vec<_>>().join("; "),
            format!("shaping by the kernel with {} (quiclab moves packets itself instead)", missing.join(", ")),
        ),
    }
}

fn room(name: &str, facts: &HostFacts) -> Check {
    let found = format!("{}, {:.1} GiB free", facts.folder, facts.free_bytes as f64 / f64::from(1 << 30));
    if facts.free_bytes >= WANTED_DISK_BYTES {
        good(name, found)
    } else {
        bad(name, found, "free some space, or name another place with folder = \"...\" in the hosts file".to_owned())
    }
}

fn clock(name: &str, facts: &HostFacts) -> Check {
    let clock = &facts.clock;
    let state = if clock.is_synchronised {
        format!("synchronised to {} \u{b5}s by the kernel's estimate", clock.largest_error_us)
    } else {
        "not synchronised".to_owned()
    };
    let by = if clock.kept_by.is_empty() {
        "set by no known program".to_owned()
    } else {
        format!("set by {}", clock.kept_by.join(" and "))
    };
    let cards = if clock.ptp_clocks.is_empty() { "no PTP clock".to_owned() } else { clock.ptp_clocks.join(", ") };
    let found = format!("{state}, {by}; {cards}");
    let by_ptp = clock.kept_by.iter().any(|one| one.contains("PHC") || one == "phc2sys");
    if by_ptp {
        return good(name, found);
    }
    let remedy = if clock.ptp_clocks.is_empty() {
        "nothing is needed: quiclab compares the clocks of each run by packets; a card with a PTP clock and linuxptp are more exact"
    } else {
        "apt-get install linuxptp; ptp4l and phc2sys set the clock more exactly than the packets by which quiclab compares clocks"
    };
    absent(name, found, remedy.to_owned(), "clocks that agree to less than a few microseconds".to_owned())
}

fn interface(label: &str, wanted: &str, facts: &HostFacts) -> Vec<Check> {
    let name = |what: &str| format!("{label}: {what}{wanted}");
    let Some(card) = facts.interfaces.iter().find(|card| card.name == wanted) else {
        let others: Vec<_> = facts.interfaces.iter().map(|card| card.name.as_str()).collect();
        let remedy = format!("name one of {} in the hosts file", others.join(", "));
        return vec![bad(&name("interface "), "not there".to_owned(), remedy)];
    };
    vec![
        link(&name("interface "), card),
        stamps(&name("time stamps of "), card),
        launch_time(&name("LaunchTime of "), card),
    ]
}

fn link(name: &str, card: &InterfaceFacts) -> Check {
    let speed = card.speed_mbps.map_or_else(|| "unknown speed".to_owned(), |speed| format!("{speed} Mbit/s"));
    let driver = card.driver.as_deref().unwrap_or("unknown");
    let state = if card.is_up { "up" } else { "no link" };
    let found = format!("{state}, MTU {}, {speed}, driver {driver}", card.mtu);
    if !card.is_up {
        bad(name, found, format!("ip link set {} up, and check the cable", card.name))
    } else if card.mtu < LEAST_MTU {
        bad(name, found, format!("ip link set {} mtu {LEAST_MTU}", card.name))
    } else {
        good(name, found)
    }
}

fn stamps(name: &str, card: &InterfaceFacts) -> Check {
    if card.has_hardware_stamps {
        let now = match card.stamps_now {
            Some(true) => "on",
            Some(false) => "off",
            None => "state unknown",
        };
        return good(name, format!("hardware ({now}), used where the host is a sniffer"));
    }
    let remedy = "a network card with hardware time stamps; ethtool -T shows what a card has";
    let needed_for = "time stamps that do not depend on the load of the host";
    absent(name, "software".to_owned(), remedy.to_owned(), needed_for.to_owned())
}

fn launch_time(name: &str, card: &InterfaceFacts) -> Check {
    match &card.no_launch_time {
        None => good(name, "the card has a clock of its own".to_owned()),
        Some(why) => absent(
            name,
            format!("no: {why}"),
            "a network card whose driver offers tc etf offload, such as Intel's i210 and i225".to_owned(),
            "hosts.etf_launch_time = true".to_owned(),
        ),
    }
}

/// Packets over the interfaces, and what they say of the clocks.
fn between(offset: &OffsetSeen) -> Check {
    let microseconds = |nanoseconds: f64| nanoseconds / 1e3;
    let uncertainty = microseconds(offset.uncertainty.as_nanos() as f64);
    good(
        "packets between the hosts",
        format!(
            "{} came back, the fastest after {:.1} \u{b5}s; the clock of the client's host is {:.1} \u{b5}s behind the server's, known to \
             {uncertainty:.1} \u{b5}s",
            offset.exchanges,
            2.0 * uncertainty,
            microseconds(offset.server_ahead_ns as f64),
        ),
    )
}

/// What all findings mean, in a sentence.
pub fn summary(checks: &[Check]) -> String {
    let missing: Vec<_> = checks.iter().filter(|check| !check.good).map(|check| check.name.as_str()).collect();
    match &missing[..] {
        [] => "runs can happen on these hosts".to_owned(),
        missing => format!("runs cannot happen on these hosts until this is fixed: {}", missing.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> InterfaceFacts {
        InterfaceFacts { name: "eth1".into(), mtu: 1500, is_up: true, ..InterfaceFacts::default() }
    }

    #[test]
    fn an_interface_is_good_with_a_link_and_room_for_packets_only() {
        assert!(link("x", &card()).good);
        let down = link("x", &InterfaceFacts { is_up: false, ..card() });
        assert!(!down.good && down.remedy.unwrap().contains("ip link set eth1 up"));
        let small = link("x", &InterfaceFacts { mtu: 1499, ..card() });
        assert!(!small.good && small.remedy.unwrap().contains("mtu 1500"));
        let facts = HostFacts { interfaces: vec![card()], ..HostFacts::default() };
        let missing = interface("client (c)", "eth7", &facts);
        assert!(!missing[0].good && missing[0].remedy.as_ref().unwrap().contains("eth1"), "{missing:?}");
        assert!(interface("client (c)", "eth1", &facts).iter().all(|check| check.good));
    }

    #[test]
    fn what_ssh_said_and_what_to_do_are_told_apart() {
        let check =
            refused("server (a): ssh", "connect to host a port 22: Connection refused\nhint: check host and port");
        assert_eq!(check.found, "connect to host a port 22: Connection refused");
        assert_eq!(check.remedy.as_deref(), Some("check host and port"));
        assert_eq!(summary(&[check]), "runs cannot happen on these hosts until this is fixed: server (a): ssh");
    }
}
