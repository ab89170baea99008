//! The bottleneck's queue: too short, too long, or not the reason for a loss.

use super::evidence::{Evidence, Outcome, QueueFacts, bound, milliseconds, number, percent};

/// A queue of a tenth of the smallest RTT is a fifth to a third of what one flow of CUBIC or Reno needs to keep a link busy.
const SHORT_OF_RTT: f64 = 0.1;
/// Fewer drops than this share of the packets do not cost a sender much.
const MANY_DROPS: f64 = 0.005;
/// Fewer drops have no pattern.
const DROPS_LEAST: usize = 3;
/// A queue with less than this share of the longest wait was not full.
const FULL: f64 = 0.5;
/// Share of the drops that no full queue explains, from which on losses count as random.
const UNEXPLAINED: f64 = 0.5;
/// Nine of ten RTT samples are so many times the smallest one...
const STANDING_RTT: f64 = 1.5;
/// ...and at least this much longer: the target of CoDel, RFC 8289 section 4.2.
const STANDING_NS: u64 = 5_000_000;
/// Number of samples of the round-trip time that must be there: of fewer, those of slow start decide.
const SAMPLES_LEAST: u64 = 20;

/// Packets are dropped while the queue is far from full.
pub(super) fn random_loss(evidence: &Evidence) -> Outcome {
    let queue = match queue(evidence) {
        Ok(queue) => queue,
        Err(outcome) => return outcome,
    };
    let drops = queue.waits_at_drops_ns.len();
    let unexplained = drops - queue.drops_at_full();
    let share = unexplained as f64 / drops.max(1) as f64;
    if drops < DROPS_LEAST || share < UNEXPLAINED {
        return Outcome::No;
    }
    Outcome::Found {
        text: format!(
            "The path loses packets without a full queue: {unexplained} of {drops} drops came while a packet waited less \
             than half of the longest wait of {}. Loss at random, a policer, or a queue that drops early (CoDel, RED, \
             PIE) does that.",
            milliseconds(queue.longest_ns)
        ),
        evidence: vec![
            bound("share_of_drops_without_a_full_queue", share, UNEXPLAINED),
            bound("drops_packets", drops as f64, DROPS_LEAST as f64),
            number("longest_wait_in_queue_ns", queue.longest_ns as f64),
        ],
        at_ns: queue.first_without_full_queue(),
    }
}

/// The queue overflows though it never holds much.
pub(super) fn short_queue(evidence: &Evidence) -> Outcome {
    let queue = match queue(evidence) {
        Ok(queue) => queue,
        Err(outcome) => return outcome,
    };
    let metrics = &evidence.run.metrics;
    let Some(rtt) = metrics.rtt_min_ns.filter(|it| *it > 0) else { return evidence.lacks("rtt_min_ns") };
    let Some(sent) = metrics.packets_sent.filter(|it| *it > 0) else { return evidence.lacks("packets_sent") };
    let drops = queue.waits_at_drops_ns.len();
    let of_rtt = queue.longest_ns as f64 / rtt as f64;
    let dropped = drops as f64 / sent as f64;
    let is_of_queue = queue.drops_at_full() as f64 > UNEXPLAINED * drops as f64;
    if drops < DROPS_LEAST || of_rtt > SHORT_OF_RTT || dropped < MANY_DROPS || !is_of_queue {
        return Outcome::No;
    }
    Outcome::Found {
        text: format!(
            "The bottleneck's queue is short: no packet waited longer than {}, {} of the smallest RTT, and it dropped \
             {drops} packets ({}). A larger buffer, or a sender that spaces its packets, loses fewer.",
            milliseconds(queue.longest_ns),
            percent(of_rtt),
            percent(dropped)
        ),
        evidence: vec![
            number("longest_wait_in_queue_ns", queue.longest_ns as f64),
            bound("dropped_share_of_packets", dropped, MANY_DROPS),
            number("rtt_min_ns", rtt as f64),
        ],
        at_ns: queue.drops_ns.first().copied(),
    }
}

/// The queue never drains.
pub(super) fn standing_queue(evidence: &Evidence) -> Outcome {
    let run = evidence.run;
    let Some(smallest) = run.metrics.rtt_min_ns.filter(|it| *it > 0) else { return evidence.lacks("rtt_min_ns") };
    let samples: u64 = run.distributions.rtt_ns.iter().map(|(_, count)| count).sum();
    if samples < SAMPLES_LEAST {
        return Outcome::Lacks(format!("there are {samples} samples of the RTT, and {SAMPLES_LEAST} are needed"));
    }
    let Some(tenth) = tenth(&run.distributions.rtt_ns, samples) else { return evidence.lacks("rtt_median_ns") };
    let times = tenth as f64 / smallest as f64;
    if times < STANDING_RTT || tenth.saturating_sub(smallest) < STANDING_NS {
        return Outcome::No;
    }
    Outcome::Found {
        text: format!(
            "A standing queue: nine of ten samples of the RTT are above {}, {times:.1} times the smallest one ({}). The \
             buffer is larger than the sender needs, and it never drains.",
            milliseconds(tenth),
            milliseconds(smallest)
        ),
        evidence: vec![
            bound("rtt_tenth_percentile_by_rtt_min", times, STANDING_RTT),
            number("rtt_min_ns", smallest as f64),
            number("rtt_samples", samples as f64),
        ],
        at_ns: None,
    }
}

/// A value that a tenth of the samples is at most a bin above: each bin's upper edge is 5.9 % above its lower one.
fn tenth(bins: &[(u64, u64)], samples: u64) -> Option<u64> {
    let mut seen = 0;
    let bin = bins.iter().find(|(_, count)| {
        seen += count;
        seen * 10 >= samples
    });
    bin.map(|(edge, _)| edge / 106 * 100)
}

pub(super) fn queue<'a>(evidence: &Evidence<'a>) -> Result<&'a QueueFacts, Outcome> {
    let Some(packets) = evidence.packets else {
        return Err(Outcome::Lacks("the packets were not looked at one by one: use quiclab look".to_owned()));
    };
    packets.queue.as_ref().ok_or_else(|| Outcome::Lacks("waits in the bottleneck's queue are not known".to_owned()))
}

impl QueueFacts {
    /// Drops that a full queue explains.
    fn drops_at_full(&self) -> usize {
        self.waits_at_drops_ns.iter().filter(|wait| self.is_full(**wait)).count()
    }

    fn is_full(&self, wait_ns: u64) -> bool {
        self.longest_ns > 0 && wait_ns as f64 >= FULL * self.longest_ns as f64
    }

    fn first_without_full_queue(&self) -> Option<u64> {
        let mut drops = self.drops_ns.iter().zip(&self.waits_at_drops_ns);
        drops.find(|(_, wait)| !self.is_full(**wait)).map(|(time, _)| *time)
    }
}
