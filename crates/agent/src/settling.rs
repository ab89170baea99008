//! Waits for the end of the reports of multicast groups, which a kernel sends when an interface was given an address.
//!
//! They begin when the kernel notices that the link is up, up to a second later, and are repeated.

use std::{
    fs,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use netlink_packet_route::{
    RouteNetlinkMessage,
    link::{LinkAttribute, LinkMessage, State},
};
use quiclab_agent_protocol::addresses::HOST_INTERFACE;

use crate::{namespace::Namespace, netlink::Netlink, topology::index};

/// Most milliseconds between two reports of a group, where real time is spent on waiting.
pub const HURRIED_REPORT_MS: &str = "10";
/// Many times as long as the pause between two hurried reports.
const SILENCE: Duration = Duration::from_millis(300);
const POLL: Duration = Duration::from_millis(10);
/// A kernel that sends no reports at all is as good as one that has sent them.
const LONGEST: Duration = Duration::from_secs(5);

/// How to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settling {
    /// Waits as long as the kernel likes: in virtual time, before a machine is saved.
    Patient,
    /// Has shorter pauses between the reports, and waits until they have come.
    Hurried,
    /// Does not wait at all: the hosts have no IPv6, whose groups are the only ones to be reported.
    WithoutIpv6,
}

impl Settling {
    /// Waits until the hosts send no reports any more.
    ///
    /// # Errors
    /// Where the kernel's counters cannot be read.
    pub fn wait(self, hosts: &[&Namespace]) -> Result<()> {
        match self {
            Self::Patient => sleep(Duration::from_secs(20)),
            Self::WithoutIpv6 => {}
            Self::Hurried => {
                for host in hosts {
                    host.inside(wait_for_reports)?;
                }
            }
        }
        Ok(())
    }
}

/// Waits until the kernel has noticed that this namespace's link is up, and has sent no reports for some time since.
fn wait_for_reports() -> Result<()> {
    let start = Instant::now();
    let (mut sent, mut since) = (0, start);
    while start.elapsed() < LONGEST && (sent == 0 || since.elapsed() < SILENCE) {
        sleep(POLL);
        let path = "/proc/thread-self/net/snmp6";
        let table = fs::read_to_string(path).context(path)?;
        let found = reports_in(&table).with_context(|| format!("{path}: no counter of reports"))?;
        if found != sent || !is_up()? {
            (sent, since) = (found, Instant::now());
        }
    }
    Ok(())
}

/// Whether the kernel's own look at the link has found it up. It looks once a second at most, and sends reports then. Until it has looked, the
/// state is unknown.
fn is_up() -> Result<bool> {
    let wanted = index(HOST_INTERFACE)?;
    let answers = Netlink::open()?.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
    let is_up = |answer: &RouteNetlinkMessage| match answer {
        RouteNetlinkMessage::NewLink(link) => {
            link.header.index == wanted && link.attributes.contains(&LinkAttribute::OperState(State::Up))
        }
        _ => false,
    };
    Ok(answers.iter().any(is_up))
}

/// Reports sent, by the kernel's table of counters.
fn reports_in(table: &str) -> Option<u64> {
    let line = table.lines().find(|line| line.starts_with("Icmp6OutMLDv2Reports"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_found_in_the_kernels_table() {
        let table = "Ip6InReceives   \t5\nIcmp6InMLDv2Reports             \t1\nIcmp6OutMLDv2Reports            \t2\n";
        assert_eq!(reports_in(table), Some(2));
        assert_eq!(reports_in("Ip6InReceives 5\n"), None);
    }
}
