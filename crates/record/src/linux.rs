//! From the counters of Linux's queueing disciplines to what stages did: for testbeds with a kernel, and for records of old versions.

use std::collections::BTreeMap;

use quiclab_agent_protocol::{report::QdiscCounters, stage::StageSeen};

/// What the stages did whose disciplines stood on an interface, the outermost first; `name` says what the stage is called whose discipline
/// stands at this place.
///
/// A discipline counts the drops of the one inside of it as its own; here each has its own drops alone.
pub fn stages_on(
    qdiscs: &[QdiscCounters],
    namespace: &str,
    interface: &str,
    name: impl Fn(usize, &QdiscCounters) -> String,
) -> Vec<StageSeen> {
    let is_here = |qdisc: &&QdiscCounters| qdisc.namespace == namespace && qdisc.interface == interface;
    let mut there: Vec<_> = qdiscs.iter().filter(is_here).collect();
    // 1:0 is the root, and has 2:0 in it.
    there.sort_by_key(|qdisc| qdisc.handle.split(':').next().and_then(|major| u32::from_str_radix(major, 16).ok()));
    let inner = there.iter().skip(1).map(|inner| inner.drops).chain([0]);
    let all = there.iter().zip(inner).enumerate();
    all.map(|(index, (qdisc, inner_drops))| stage_of(qdisc, inner_drops, &name(index, qdisc))).collect()
}

fn stage_of(discipline: &QdiscCounters, inner_drops: u64, name: &str) -> StageSeen {
    let mut drops = BTreeMap::new();
    let mut counts = BTreeMap::new();
    for (name, count) in &discipline.own {
        match name.strip_suffix("_drops") {
            Some(cause) if *count > 0 => drops.insert(cause.to_owned(), *count),
            Some(_) => None,
            None => counts.insert(name.clone(), *count),
        };
    }
    let named: u64 = drops.values().sum();
    let rest = discipline.drops.saturating_sub(inner_drops).saturating_sub(named);
    if rest > 0 {
        drops.insert(usual_cause(&discipline.kind).to_owned(), rest);
    }
    if discipline.overlimits > 0 {
        counts.insert("overlimits".to_owned(), discipline.overlimits);
    }
    StageSeen {
        packets_passed: discipline.packets,
        bytes_passed: Some(discipline.bytes),
        drops,
        packets_waiting: discipline.backlog_packets,
        bytes_waiting: discipline.backlog_bytes,
        counts,
        ..StageSeen::new(name, &discipline.kind)
    }
}

/// Why a discipline of this kind drops a packet, as far as its plain counter says.
fn usual_cause(kind: &str) -> &'static str {
    match kind {
        "netem" | "pfifo_fast" | "pfifo" | "bfifo" | "fq" | "gso_pace" => "queue_full",
        "tbf" => "too_long",
        "etf" => "send_time",
        _ => "unspecified",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The discipline `handle` of the interface `eth0`, which has counted drops.
    fn discipline(handle: &str, kind: &str, drops: u64) -> QdiscCounters {
        QdiscCounters {
            namespace: "server".to_owned(),
            interface: "eth0".to_owned(),
            kind: kind.to_owned(),
            handle: handle.to_owned(),
            packets: 10,
            bytes: 1000,
            drops,
            overlimits: 0,
            backlog_packets: 0,
            backlog_bytes: 0,
            own: BTreeMap::new(),
        }
    }

    fn stages(qdiscs: &[QdiscCounters]) -> Vec<StageSeen> {
        stages_on(qdiscs, "server", "eth0", |_, qdisc| qdisc.kind.clone())
    }

    #[test]
    fn drops_of_an_inner_discipline_are_counted_once() {
        let elsewhere = QdiscCounters { interface: "eth1".to_owned(), ..discipline("1:0", "tbf", 9) };
        let nested = stages(&[discipline("2:0", "netem", 5), elsewhere, discipline("1:0", "tbf", 7)]);
        assert_eq!(nested[0].drops, BTreeMap::from([("too_long".to_owned(), 2)]));
        assert_eq!(nested[1].drops, BTreeMap::from([("queue_full".to_owned(), 5)]));
        assert_eq!(nested.iter().map(StageSeen::all_drops).sum::<u64>(), 7, "as the outermost one counts them");
    }

    #[test]
    fn a_disciplines_own_counters_name_the_causes_of_its_drops() {
        let own = [("horizon_drops", 3), ("flow_limit_drops", 0), ("throttled", 9)];
        let own = own.map(|(name, count)| (name.to_owned(), count)).into();
        let stages = stages(&[QdiscCounters { own, ..discipline("1:0", "fq", 4) }]);
        let drops = [("horizon", 3), ("queue_full", 1)];
        assert_eq!(stages[0].drops, drops.map(|(name, count)| (name.to_owned(), count)).into());
        assert_eq!(stages[0].counts, BTreeMap::from([("throttled".to_owned(), 9)]));
    }
}
