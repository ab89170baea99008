//! What the kernel counted: per queue, and how long the CPUs were idle.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result};
use netlink_packet_route::{
    RouteNetlinkMessage,
    tc::{TcAttribute, TcMessage, TcStats2, TcXstats},
};
use serde::{Deserialize, Serialize};

use crate::{
    namespace::Namespace,
    netlink::Netlink,
    topology::{HOST_INTERFACE, TO_CLIENT, TO_SERVER, Topology, index},
};

/// Counters of one queueing discipline. They start at zero when it is installed, which is before the run begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QdiscCounters {
    /// `server`, `wire` or `client`.
    pub namespace: String,
    /// The interface it stands on.
    pub interface: String,
    /// For example `netem`.
    pub kind: String,
    /// Handle, for example `1:0`.
    pub handle: String,
    /// Packets that left it.
    pub packets: u32,
    /// Bytes that left it.
    pub bytes: u64,
    /// Packets it dropped.
    pub drops: u32,
    /// Times a packet had to wait for its rate.
    pub overlimits: u32,
    /// Packets waiting in it now.
    pub backlog_packets: u32,
    /// Bytes waiting in it now.
    pub backlog_bytes: u32,
    /// What only this kind counts, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, u64>,
}

/// The counters of every queueing discipline of the topology, in the order server, wire, client.
///
/// # Errors
/// What the kernel answers.
pub fn qdiscs(topology: &Topology) -> Result<Vec<QdiscCounters>> {
    let mut all = Vec::new();
    for (namespace, interfaces) in [
        (&topology.server, &[HOST_INTERFACE][..]),
        (&topology.wire, &[TO_SERVER, TO_CLIENT]),
        (&topology.client, &[HOST_INTERFACE]),
    ] {
        all.extend(namespace.inside(|| in_namespace(namespace, interfaces))?);
    }
    Ok(all)
}

fn in_namespace(namespace: &Namespace, interfaces: &[&str]) -> Result<Vec<QdiscCounters>> {
    let answers = Netlink::open()?.dump(RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default()))?;
    let mut found = Vec::new();
    for interface in interfaces {
        let wanted = index(interface)? as i32;
        for answer in &answers {
            if let RouteNetlinkMessage::NewQueueDiscipline(message) = answer
                && message.header.index == wanted
            {
                found.extend(counters(namespace.name, interface, message));
            }
        }
    }
    Ok(found)
}

/// `None` for the pseudo disciplines that count nothing.
fn counters(namespace: &str, interface: &str, message: &TcMessage) -> Option<QdiscCounters> {
    let mut counters = QdiscCounters {
        namespace: namespace.to_owned(),
        interface: interface.to_owned(),
        kind: String::new(),
        handle: message.header.handle.to_string(),
        packets: 0,
        bytes: 0,
        drops: 0,
        overlimits: 0,
        backlog_packets: 0,
        backlog_bytes: 0,
        own: BTreeMap::new(),
    };
    for attribute in &message.attributes {
        match attribute {
            TcAttribute::Kind(kind) => counters.kind.clone_from(kind),
            TcAttribute::Stats2(statistics) => {
                for statistic in statistics {
                    match statistic {
                        TcStats2::Basic(basic) => {
                            counters.packets = basic.packets;
                            counters.bytes = basic.bytes;
                        }
                        TcStats2::Queue(queue) => {
                            counters.drops = queue.drops;
                            counters.overlimits = queue.overlimits;
                            counters.backlog_packets = queue.qlen;
                            counters.backlog_bytes = queue.backlog;
                        }
                        TcStats2::App(TcXstats::Other(bytes)) => counters.own = own(&counters.kind, bytes),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    (!matches!(counters.kind.as_str(), "noqueue" | "clsact")).then_some(counters)
}

/// Places of 64-bit counters that a kind has of its own.
const OWN: &[(&str, &[(&str, usize)])] = &[
    // `struct tc_fq_qd_stats` of linux/pkt_sched.h.
    ("fq", &[("throttled", 24), ("flow_limit_drops", 32), ("horizon_drops", 88)]),
    // `struct tc_gso_pace_xstats` of kernel/module/sch_gso_pace.h.
    ("gso_pace", &[("buffers", 0), ("segments", 8), ("unpaced", 16), ("late", 24)]),
];

fn own(kind: &str, bytes: &[u8]) -> BTreeMap<String, u64> {
    let places = OWN.iter().find(|(known, _)| *known == kind).map_or(&[][..], |(_, places)| places);
    let value = |place: usize| Some(u64::from_ne_bytes(bytes.get(place..place + 8)?.try_into().ok()?));
    places.iter().filter_map(|(name, place)| Some(((*name).to_owned(), value(*place)?))).collect()
}

/// Idle time summed over the CPUs, in hundredths of a second (`/proc/stat`, fields `idle` and `iowait`).
///
/// # Errors
/// Where `/proc/stat` cannot be read or understood.
pub fn idle_centiseconds() -> Result<u64> {
    let text = fs::read_to_string("/proc/stat").context("/proc/stat")?;
    idle_of(&text).with_context(|| format!("/proc/stat: found {:?}, expected the line `cpu`", text.lines().next()))
}

fn idle_of(text: &str) -> Option<u64> {
    let mut fields = text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
    let idle: u64 = fields.nth(3)?.parse().ok()?;
    let waiting: u64 = fields.next()?.parse().ok()?;
    Some(idle + waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kinds_own_counters_are_found_at_their_places() {
        let words: Vec<u8> = (1..=14_u64).flat_map(u64::to_ne_bytes).collect();
        let found = |kind, name: &str| own(kind, &words).get(name).copied();
        assert_eq!(found("fq", "throttled"), Some(4));
        // Behind eight numbers of 8 bytes come four of 4 bytes, and one more of 8.
        assert_eq!(found("fq", "horizon_drops"), Some(12));
        assert_eq!(found("gso_pace", "late"), Some(4));
        assert_eq!(own("gso_pace", &words[..20]).len(), 2, "counters that an older module lacks are left out");
        assert!(own("netem", &words).is_empty());
    }

    #[test]
    fn idle_time_is_the_fourth_and_fifth_field() {
        let text = "cpu  10 20 30 400 5 0 7 0 0 0\ncpu0 1 2 3 4 5 6 7 0 0 0\n";
        assert_eq!(idle_of(text), Some(405));
        assert_eq!(idle_of("cpu0 1 2 3 4 5"), None);
        assert_eq!(idle_of(""), None);
    }
}
