//! What verdicts need of single packets.

use std::{cmp::Reverse, collections::BinaryHeap};

use quiclab_metrics::{PacketFacts, QueueFacts};
use quiclab_wire::Role;

use super::extras::SeenPacket;

/// Bytes in flight up to which a sender waits for the last acknowledgment of what it sent.
const ALMOST_NOTHING_BYTES: u64 = 1500;
/// A pause shorter than this share of the RTT is none.
const PAUSE_OF_RTT: f64 = 0.5;
/// Share of the most packets that were ever between the taps at which the queue is full.
const NEARLY: f64 = 0.95;

/// Facts of one flow's sender.
pub fn of(seen: &[SeenPacket], flow: usize, sender: Role) -> PacketFacts {
    let of_flow = || seen.iter().filter(|seen| seen.row.flow == flow);
    let of_sender = || of_flow().filter(|seen| seen.row.sender == sender.name());
    let Some(start) = of_sender().next().map(|seen| seen.row.time_ns) else { return PacketFacts::default() };
    let since = |time: u64| time.saturating_sub(start);
    let is_read = of_sender().any(|seen| seen.number.is_some() && seen.is_read);
    let blocked = of_sender().filter(|seen| seen.is_blocked);
    let rtt = of_flow().filter_map(|seen| seen.rtt_ns).min();
    let is_acknowledged = of_sender().any(|seen| seen.row.bytes_in_flight.is_some());
    PacketFacts {
        blocked_ns: is_read.then(|| blocked.map(|seen| since(seen.row.time_ns)).collect()),
        idle_ns: rtt.filter(|_| is_read && is_acknowledged).map(|rtt| pauses(of_sender(), start, rtt)),
        queue: queue(of_sender(), start),
    }
}

/// Waits between the taps. A limit can count packets that are delayed as well as those that wait, as that of netem does: a drop
/// while nearly as many packets are between the taps as ever is one of a full queue, however long its packets wait.
fn queue<'a>(server: impl Iterator<Item = &'a SeenPacket> + Clone, start: u64) -> Option<QueueFacts> {
    let crossings = server.clone().filter_map(|seen| seen.row.behind_bottleneck_after_ns);
    let shortest = crossings.clone().min()?;
    let mut facts = QueueFacts { longest_ns: crossings.max()? - shortest, ..QueueFacts::default() };
    let mut wait = None;
    // When the packets between the taps leave; how many were there at most, and at each drop.
    let mut between: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
    let mut most = 0;
    let mut at_drops = Vec::new();
    for seen in server {
        let time = seen.row.time_ns;
        while between.peek().is_some_and(|Reverse(leaves)| *leaves <= time) {
            between.pop();
        }
        if let Some(crossing) = seen.row.behind_bottleneck_after_ns {
            wait = Some(crossing - shortest);
            between.push(Reverse(time + crossing));
            most = most.max(between.len());
        }
        if let (Some(true), Some(wait)) = (seen.row.is_dropped, wait) {
            facts.drops_ns.push(time.saturating_sub(start));
            facts.waits_at_drops_ns.push(wait);
            at_drops.push(between.len());
        }
    }
    let longest = facts.longest_ns;
    for (wait, count) in facts.waits_at_drops_ns.iter_mut().zip(at_drops) {
        if count as f64 >= NEARLY * most as f64 {
            *wait = longest;
        }
        facts.at_limit.push(*wait as f64 >= NEARLY * longest as f64);
    }
    Some(facts)
}

/// Times before packets of new data in which nothing was in flight: from the last acknowledgment on.
fn pauses<'a>(server: impl Iterator<Item = &'a SeenPacket>, start: u64, rtt: u64) -> Vec<(u64, u64)> {
    let mut pauses = Vec::new();
    // When all that was sent so far is acknowledged. `None`: some of it is not.
    let mut all_acknowledged = None;
    let mut has_data = false;
    for seen in server {
        let time = seen.row.time_ns;
        let is_first = seen.row.bytes_in_flight.is_some_and(|bytes| bytes <= ALMOST_NOTHING_BYTES);
        if let (true, true, Some(from)) = (is_first, has_data && seen.new_stream_bytes > 0, all_acknowledged)
            && time.saturating_sub(from) as f64 > PAUSE_OF_RTT * rtt as f64
        {
            pauses.push((from.saturating_sub(start), time - from));
        }
        has_data |= seen.new_stream_bytes > 0;
        if let Some(after) = seen.row.acknowledged_after_ns {
            all_acknowledged = all_acknowledged.max(Some(time.saturating_add(after)));
        }
    }
    pauses
}
