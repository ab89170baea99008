//! Losses: real ones, taken back ones, and a queue that was too short for slow start.

use super::evidence::{Evidence, Outcome, bound, number, percent};
use super::queue::queue;

/// Once can be chance.
const RESTORED_OFTEN: u64 = 2;
/// Share of the packets declared lost that are taken back, from which on the rule of spurious losses applies.
const SPURIOUS: f64 = 0.1;
/// Fewer taken back are not worth a word.
const SPURIOUS_LEAST: u64 = 3;
/// Fewer drops of a full queue in slow start can be chance: a loss at random ends slow start where the queue was longest so far.
const OVERFLOW_DROPS: usize = 5;
/// Share of the drops in slow start that are those of a full queue, from which on the rule of slow start applies.
const OVERFLOW_SHARE: f64 = 0.5;

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
    let mut text = format!(
        "The window is reduced and restored again and again: {reduced} reductions, {restored} of which the sender took back"
    );
    let mut numbers = vec![
        bound("congestion_window_restorations", restored as f64, RESTORED_OFTEN as f64),
        number("congestion_window_reductions", reduced as f64),
    ];
    // A sender can take a loss for a spurious one though it is real: these two numbers tell.
    if let (Some(lost), Some(spurious)) = (metrics.packets_lost, metrics.packets_lost_spuriously) {
        text += &format!("; {spurious} of the {} packets declared lost were acknowledged later", lost + spurious);
        numbers.push(number("packets_lost_spuriously", spurious as f64));
    }
    Outcome::Found { text: text + ".", evidence: numbers, at_ns: None }
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
    // Without waits, a drop at random is not told from one of a full queue.
    let queue = match queue(evidence) {
        Ok(queue) => queue,
        Err(outcome) => return outcome,
    };
    // Without an end, the whole transfer is slow start; drops in it are those of slow start all the same.
    let Some(slow_start) = &evidence.run.slow_start else { return evidence.lacks("slow_start_end_ns") };
    if slow_start.ended_by == crate::slow_start::SlowStartEnd::Unknown {
        return Outcome::Lacks(format!("the end of slow start is not known: {}", slow_start.evidence));
    }
    let end = evidence.run.metrics.slow_start_end_ns.unwrap_or(u64::MAX);
    let early = queue.drops_ns.iter().zip(&queue.at_limit).filter(|(time, _)| **time <= end);
    let full: Vec<u64> = early.clone().filter(|(_, is_at_limit)| **is_at_limit).map(|(time, _)| *time).collect();
    let share = full.len() as f64 / early.count().max(1) as f64;
    let all = queue.drops_ns.len();
    if full.len() < OVERFLOW_DROPS || share < OVERFLOW_SHARE || queue.longest_ns == 0 {
        return Outcome::No;
    }
    Outcome::Found {
        text: format!(
            "The bottleneck's queue overflowed in slow start: it dropped {} packets there while it was full, {} of all {all} \
             drops.",
            full.len(),
            percent(full.len() as f64 / all as f64),
        ),
        evidence: vec![
            bound("drops_at_a_full_queue_in_slow_start", full.len() as f64, OVERFLOW_DROPS as f64),
            bound("share_of_drops_in_slow_start_at_a_full_queue", share, OVERFLOW_SHARE),
            number("drops_packets", all as f64),
            number("longest_wait_in_queue_ns", queue.longest_ns as f64),
        ],
        at_ns: full.first().copied(),
    }
}
