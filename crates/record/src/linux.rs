//! From the counters of Linux's queueing disciplines to what stages did: for testbeds with a kernel, and for records of old versions.

use std::collections::BTreeMap;

use crate::StageSeen;

/// Counters of one queueing discipline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discipline {
    /// Kind of the queueing discipline, for example `netem`.
    pub kind: String,
    /// Packets that left it.
    pub packets: u64,
    /// Bytes that left it.
    pub bytes: u64,
    /// Packets that it or one inside of it dropped.
    pub drops: u64,
    /// Times a packet had to wait for its rate.
    pub overlimits: u64,
    /// Packets waiting in it.
    pub backlog_packets: u64,
    /// Bytes waiting in it.
    pub backlog_bytes: u64,
    /// What only this kind counts, by name.
    pub own: BTreeMap<String, u64>,
}

/// What the stages did whose disciplines are nested like this, the outermost first; `names` has the stage's name for each.
///
/// A discipline counts the drops of the one inside of it as its own; here each has its own drops alone.
pub fn stages_of_nested(disciplines: &[Discipline], names: &[&str]) -> Vec<StageSeen> {
    let inner = disciplines.iter().skip(1).map(|inner| inner.drops).chain([0]);
    let all = disciplines.iter().zip(inner).zip(names);
    all.map(|((discipline, inner), name)| stage_of(discipline, inner, name)).collect()
}

fn stage_of(discipline: &Discipline, inner_drops: u64, name: &str) -> StageSeen {
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

    fn discipline(kind: &str, drops: u64) -> Discipline {
        Discipline {
            kind: kind.to_owned(),
            packets: 10,
            bytes: 1000,
            drops,
            overlimits: 0,
            backlog_packets: 0,
            backlog_bytes: 0,
            own: BTreeMap::new(),
        }
    }

    #[test]
    fn drops_of_an_inner_discipline_are_counted_once() {
        let nested = stages_of_nested(&[discipline("tbf", 7), discipline("netem", 5)], &["rate", "delay"]);
        assert_eq!(nested[0].drops, BTreeMap::from([("too_long".to_owned(), 2)]));
        assert_eq!(nested[1].drops, BTreeMap::from([("queue_full".to_owned(), 5)]));
        assert_eq!(nested.iter().map(StageSeen::all_drops).sum::<u64>(), 7, "as the outermost one counts them");
    }

    #[test]
    fn a_disciplines_own_counters_name_the_causes_of_its_drops() {
        let own = [("horizon_drops", 3), ("flow_limit_drops", 0), ("throttled", 9)];
        let own = own.map(|(name, count)| (name.to_owned(), count)).into();
        let stages = stages_of_nested(&[Discipline { own, ..discipline("fq", 4) }], &["fq"]);
        let drops = [("horizon", 3), ("queue_full", 1)];
        assert_eq!(stages[0].drops, drops.map(|(name, count)| (name.to_owned(), count)).into());
        assert_eq!(stages[0].counts, BTreeMap::from([("throttled".to_owned(), 9)]));
    }
}
