//! How packets leave, and why together.

use super::evidence::{Evidence, Measured, Outcome, bound, number, percent};
use super::limits::NOTHING_TO_SEND;
use crate::bursts::cause::BurstCause;

/// Below this share of all packets, trains of more than 5 packets are not worth a word.
const FEW: f64 = 0.05;
/// A cause of at least this share of them is the cause.
const MOST: f64 = 0.5;
/// Share of packets in long trains after slow start from which on a sender is not paced.
const UNPACED: f64 = 0.5;

/// The share of packets in long trains, where one cause explains most of them.
fn mostly(evidence: &Evidence, cause: Option<f64>, name: &'static str) -> Result<(f64, f64, Vec<Measured>), Outcome> {
    let Some(bursty) = evidence.run.metrics.burst_share_of_packets else {
        return Err(evidence.lacks("burst_share_of_packets"));
    };
    if bursty < FEW {
        return Err(Outcome::No);
    }
    let Some(share) = cause else { return Err(evidence.lacks(name)) };
    if share < MOST {
        return Err(Outcome::No);
    }
    Ok((bursty, share, vec![bound("burst_share_of_packets", bursty, FEW), bound(name, share, MOST)]))
}

/// Where the longest train with this cause is.
fn longest(evidence: &Evidence, cause: BurstCause) -> Option<(u64, u64)> {
    let trains = evidence.run.distributions.bursts.iter().filter(|train| train.cause == cause);
    trains.max_by_key(|train| (train.packets, std::cmp::Reverse(train.start_ns))).map(|it| (it.start_ns, it.packets))
}

/// Most long trains follow acknowledgments.
pub(super) fn ack_trains(evidence: &Evidence) -> Outcome {
    let metrics = &evidence.run.metrics;
    let (bursty, share, mut numbers) = match mostly(evidence, metrics.burst_share_ack, "burst_share_ack") {
        Ok(found) => found,
        Err(outcome) => return outcome,
    };
    let mut text = format!(
        "{} of the packets leave in trains of more than 5, {} of them behind acknowledgments",
        percent(bursty),
        percent(share)
    );
    if let (Some(sent), Some(acks @ 1..)) = (metrics.packets_sent, metrics.acks_received) {
        let each = sent as f64 / acks as f64;
        text += &format!("; the client sends an acknowledgment for every {each:.1} packets");
        numbers.push(number("packets_sent_per_ack", each));
    }
    Outcome::Found { text: text + ".", evidence: numbers, at_ns: longest(evidence, BurstCause::Ack).map(|it| it.0) }
}

/// Most long trains were handed over to the kernel at once.
pub(super) fn batches(evidence: &Evidence) -> Outcome {
    let metrics = &evidence.run.metrics;
    let (bursty, share, mut numbers) = match mostly(evidence, metrics.burst_share_batch, "burst_share_batch") {
        Ok(found) => found,
        Err(outcome) => return outcome,
    };
    let usual = usual_train(evidence);
    numbers.extend(usual.map(|packets| number("usual_train_packets", packets as f64)));
    let of = usual.map_or_else(String::new, |packets| format!(" of {packets}"));
    Outcome::Found {
        text: format!(
            "Batches{of}: {} of the packets leave in trains of more than 5, {} of them handed over together \
             (GSO, sendmmsg, or one release of the queueing discipline).",
            percent(bursty),
            percent(share)
        ),
        evidence: numbers,
        at_ns: longest(evidence, BurstCause::Batch).map(|it| it.0),
    }
}

/// The sender planned its packets apart, and most long trains left together all the same.
pub(super) fn plan_not_kept(evidence: &Evidence) -> Outcome {
    let share = evidence.run.metrics.burst_share_late_timer;
    let (bursty, share, numbers) = match mostly(evidence, share, "burst_share_late_timer") {
        Ok(found) => found,
        Err(outcome) => return outcome,
    };
    Outcome::Found {
        text: format!(
            "Send times are not kept: {} of the packets leave in trains of more than 5, {} of them though the sender \
             planned them apart. No queueing discipline that keeps send times (fq, etf) is at the interface, or a timer, or \
             who held the CPU, was late.",
            percent(bursty),
            percent(share)
        ),
        evidence: numbers,
        at_ns: longest(evidence, BurstCause::LateTimer).map(|it| it.0),
    }
}

/// Most long trains empty a pacer that saves up what it did not use.
pub(super) fn full_bucket(evidence: &Evidence) -> Outcome {
    let metrics = &evidence.run.metrics;
    let (bursty, share, mut numbers) = match mostly(evidence, metrics.burst_share_bucket, "burst_share_bucket") {
        Ok(found) => found,
        Err(outcome) => return outcome,
    };
    let bucket = metrics.pacing_bucket_packets;
    numbers.extend(bucket.map(|packets| number("pacing_bucket_packets", packets as f64)));
    let of = bucket.map_or_else(String::new, |packets| format!(" of {packets} packets"));
    Outcome::Found {
        text: format!(
            "The pacer lets a bucket{of} go at once: {} of the packets leave in trains of more than 5, {} of them as long as \
             that bucket while the window had room for more.",
            percent(bursty),
            percent(share)
        ),
        evidence: numbers,
        at_ns: longest(evidence, BurstCause::Bucket).map(|it| it.0),
    }
}

/// The length of more than 5 that most packets in long trains have.
fn usual_train(evidence: &Evidence) -> Option<u64> {
    let trains = evidence.run.distributions.trains.iter();
    let long = trains.filter(|(packets, _)| *packets > crate::trains::SHORT_TRAIN_PACKETS);
    long.max_by_key(|(packets, count)| (packets * count, std::cmp::Reverse(*packets))).map(|(packets, _)| *packets)
}

/// Most packets still leave in long trains after slow start.
pub(super) fn not_paced(evidence: &Evidence) -> Outcome {
    let metrics = &evidence.run.metrics;
    let Some(share) = metrics.steady.burst_share_of_packets else {
        // Slow start has no end where the application limits the sender.
        return match metrics.nothing_to_send_share {
            Some(idle) if idle >= NOTHING_TO_SEND => responses_not_paced(evidence),
            _ => evidence.lacks("steady_burst_share_of_packets"),
        };
    };
    if share < UNPACED {
        return Outcome::No;
    }
    let longest = metrics.steady.train_max_packets;
    let longest_in_words = longest.map_or_else(String::new, |it| format!("; the longest has {it}"));
    let mut numbers = vec![bound("steady_burst_share_of_packets", share, UNPACED)];
    numbers.extend(longest.map(|it| number("steady_train_max_packets", it as f64)));
    Outcome::Found {
        text: format!(
            "Pacing is off or has no effect: after slow start {} of the packets still leave in trains of more than \
             5{longest_in_words}.",
            percent(share)
        ),
        evidence: numbers,
        at_ns: metrics.slow_start_end_ns,
    }
}

/// Each response leaves at once, though the sender has the time to space its packets.
fn responses_not_paced(evidence: &Evidence) -> Outcome {
    let metrics = &evidence.run.metrics;
    let Some(share) = metrics.burst_share_of_packets else { return evidence.lacks("burst_share_of_packets") };
    if share < UNPACED {
        return Outcome::No;
    }
    let longest = metrics.train_max_packets;
    let longest_in_words = longest.map_or_else(String::new, |it| format!("; the longest has {it}"));
    let mut numbers = vec![bound("burst_share_of_packets", share, UNPACED)];
    numbers.extend(longest.map(|it| number("train_max_packets", it as f64)));
    Outcome::Found {
        text: format!(
            "Pacing is off or too fast for these responses: {} of the packets leave in trains of more than \
             5{longest_in_words}.",
            percent(share)
        ),
        evidence: numbers,
        at_ns: None,
    }
}
