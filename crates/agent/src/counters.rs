//! What the kernel counted of every queue.

use std::collections::BTreeMap;

use anyhow::Result;
use netlink_packet_route::{
    RouteNetlinkMessage,
    tc::{TcAttribute, TcMessage, TcStats2, TcXstats},
};
use quiclab_agent_protocol::{
    addresses::{HOST_INTERFACE, TO_CLIENT, TO_SERVER},
    report::QdiscCounters,
};

use crate::{
    namespace::Namespace,
    netlink::Netlink,
    topology::{Topology, index},
};

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
        all.extend(at(namespace, interfaces)?);
    }
    Ok(all)
}

/// The counters of the disciplines at these interfaces of a namespace.
///
/// # Errors
/// What the kernel answers.
pub(crate) fn at(namespace: &Namespace, interfaces: &[&str]) -> Result<Vec<QdiscCounters>> {
    namespace.inside(|| in_namespace(namespace, interfaces))
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
                            counters.packets = basic.packets.into();
                            counters.bytes = basic.bytes;
                        }
                        TcStats2::Queue(queue) => {
                            counters.drops = queue.drops.into();
                            counters.overlimits = queue.overlimits.into();
                            counters.backlog_packets = queue.qlen.into();
                            counters.backlog_bytes = queue.backlog.into();
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
}
