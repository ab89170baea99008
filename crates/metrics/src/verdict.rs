//! Verdicts: what the numbers of a transfer mean, in words, by rules that are written down in docs/reference/verdicts.md.
//!
//! A rule is a function from [`Evidence`] to an [`Outcome`]; a new one is a function beside the others and a line in [`RULES`].
//! A rule that lacks what it needs says so. It never guesses.

mod evidence;
mod handshake;
mod host;
mod limits;
mod loss;
mod queue;
mod trains;

#[cfg(test)]
mod tests;

use serde::Serialize;

use self::evidence::Outcome;
pub use self::evidence::{Evidence, Measured, PacketFacts, QueueFacts};

/// One rule that applies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Stable name of the rule, such as `ack_trains`.
    pub rule: &'static str,
    /// What is the case, in a sentence with the numbers.
    pub text: String,
    /// The numbers that it rests on.
    pub evidence: Vec<Measured>,
    /// Where to look: nanoseconds since the sender's first packet. `None`: it is not at one place.
    pub at_ns: Option<u64>,
}

/// A rule that could not be applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotJudged {
    /// Stable name of the rule.
    pub rule: &'static str,
    /// What it needs and was not there.
    pub reason: String,
}

/// What came of all rules. A rule in neither list was applied, and is not the case.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verdicts {
    /// Rules that apply, in the order of [`RULES`].
    pub found: Vec<Verdict>,
    /// Rules that lack what they need.
    pub not_judged: Vec<NotJudged>,
    /// Packets that the sender sent; `None` where that is not known.
    pub packets_sent: Option<u64>,
    /// Packets that were declared lost and never acknowledged; `None` where that is not known.
    pub packets_lost: Option<u64>,
    /// Packets that the bottleneck dropped; `None` where that is not known.
    pub packets_dropped: Option<u64>,
}

type Judge = fn(&Evidence) -> Outcome;

/// All rules, the most telling first: their names, and how they judge.
const RULES: &[(&str, Judge)] = &[
    ("host_busy", host::host_busy),
    ("receive_buffer_drops", host::receive_buffer_drops),
    ("amplification_exceeded", handshake::amplification_exceeded),
    ("amplification_blocked", handshake::amplification_blocked),
    ("handshake_repeated", handshake::handshake_repeated),
    ("flow_control_limited", limits::flow_control_limited),
    ("application_limited", limits::application_limited),
    ("window_restored", loss::window_restored),
    ("spurious_losses", loss::spurious_losses),
    ("random_loss", queue::random_loss),
    ("short_queue", queue::short_queue),
    ("standing_queue", queue::standing_queue),
    ("slow_start_overflow", loss::slow_start_overflow),
    ("ack_trains", trains::ack_trains),
    ("batches", trains::batches),
    ("plan_not_kept", trains::plan_not_kept),
    ("full_bucket", trains::full_bucket),
    ("not_paced", trains::not_paced),
    ("idle_end_in_goodput", limits::idle_end_in_goodput),
];

/// The names of all rules, in the order in which verdicts are given.
pub fn verdict_rules() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, _)| *name)
}

/// Applies every rule.
pub fn judge(evidence: &Evidence) -> Verdicts {
    let metrics = &evidence.run.metrics;
    let (packets_sent, packets_lost) = (metrics.packets_sent, metrics.packets_lost);
    let mut verdicts =
        Verdicts { packets_sent, packets_lost, packets_dropped: metrics.drops_packets, ..Verdicts::default() };
    for (rule, judge) in RULES {
        match judge(evidence) {
            Outcome::Found { text, evidence, at_ns } => {
                verdicts.found.push(Verdict { rule, text, evidence, at_ns });
            }
            Outcome::No => {}
            Outcome::Lacks(reason) => verdicts.not_judged.push(NotJudged { rule, reason }),
        }
    }
    verdicts
}
