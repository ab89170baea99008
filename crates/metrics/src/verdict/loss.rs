//! Losses: real ones, taken back ones, and a queue that was too short for slow start.

use super::{Evidence, Outcome, bound, number, percent};

/// Once can be chance.
const RESTORED_OFTEN: u64 = 2;
/// Of all packets declared lost, taken back.
const SPURIOUS: f64 = 0.1;
/// Fewer taken back are not worth a word.
const SPURIOUS_LEAST: u64 = 3;

/// The sender takes its reductions back.
pub(super) fn window_restored(evidence: &Evidence) -> Outcome {
    let metrics = &evidence.run.metrics;
    let (Some(reduced), Some(restored)) =
        (metrics.congestion_window_reductions, metrics.congestion_window_restorations)
    else {
        return evidence.lacks("congestion_window_restorations");
    };
    if restored < RESTORED_OFTEN {
        return Outcome::No;
    }
    Outcome::Found {
        text: format!(
            "The window is reduced and restored again and again: {reduced} reductions, {restored} of which the sender \
             took back because the loss was spurious."
        ),
        evidence: vec![
            bound("congestion_window_restorations", restored as f64, RESTORED_OFTEN as f64),
            number("congestion_window_reductions", reduced as f64),
        ],
        at_ns: None,
    }
}

/// Packets that were declared lost arrive after all.
pub(super) fn spurious_losses(evidence: &Evidence) -> Outcome {
    let metrics = &evidence.run.metrics;
    let (Some(lost), Some(spurious)) = (metrics.packets_lost, metrics.packets_lost_spuriously) else {
        return evidence.lacks("packets_lost_spuriously");
    };
    let share = spurious as f64 / (lost + spurious).max(1) as f64;
    if spurious < SPURIOUS_LEAST || share < SPURIOUS {
        return Outcome::No;
    }
    Outcome::Found {
        text: format!(
            "{} of the losses are none: {spurious} packets count as lost by RFC 9002 section 6.1 and are acknowledged \
             later. The path reorders or delays them.",
            percent(share)
        ),
        evidence: vec![
            bound("packets_lost_spuriously", spurious as f64, SPURIOUS_LEAST as f64),
            bound("spurious_share_of_losses", share, SPURIOUS),
        ],
        at_ns: None,
    }
}

/// Slow start fills the queue of the bottleneck until it drops.
pub(super) fn slow_start_overflow(evidence: &Evidence) -> Outcome {
    let Some(packets) = evidence.packets else {
        return Outcome::Lacks("the packets were not looked at one by one: use quiclab look".to_owned());
    };
    let Some(drops) = &packets.drops_ns else {
        return Outcome::Lacks("there is no tap behind the bottleneck".to_owned());
    };
    // Without an end, the whole transfer is slow start; drops in it are those of slow start all the same.
    let Some(slow_start) = &evidence.run.slow_start else { return evidence.lacks("slow_start_end_ns") };
    if slow_start.ended_by == crate::phases::SlowStartEnd::Unknown {
        return Outcome::Lacks(format!("the end of slow start is not known: {}", slow_start.evidence));
    }
    let end = evidence.run.metrics.slow_start_end_ns.unwrap_or(u64::MAX);
    let early: Vec<u64> = drops.iter().copied().filter(|time| *time <= end).collect();
    let Some(first) = early.first().copied() else { return Outcome::No };
    Outcome::Found {
        text: format!(
            "The bottleneck overflowed in slow start: it dropped {} packets there, {} of all {} drops.",
            early.len(),
            percent(early.len() as f64 / drops.len() as f64),
            drops.len()
        ),
        evidence: vec![
            bound("drops_in_slow_start", early.len() as f64, 1.0),
            number("drops_packets", drops.len() as f64),
        ],
        at_ns: Some(first),
    }
}
