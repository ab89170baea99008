//! Verdicts: what the numbers of a transfer mean, in words, by rules that are written down in docs/reference/verdicts.md.
//!
//! A rule is a function from [`Evidence`] to an [`Outcome`]; a new one is a function beside the others and a line in [`RULES`].
//! A rule that lacks what it needs says so. It never guesses.

mod handshake;
mod host;
mod limits;
mod loss;
mod queue;
mod trains;

#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::output::RunMetrics;

/// What a rule may look at.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// The metrics of one sender of one flow.
    pub run: &'a RunMetrics,
    /// What only its packets tell. `None`: they were not looked at one by one.
    pub packets: Option<&'a PacketFacts>,
}

/// What the packets of one sender tell besides the metrics. Times are nanoseconds since its first packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketFacts {
    /// Times of DATA_BLOCKED and STREAM_DATA_BLOCKED frames of the sender (RFC 9000 sections 19.12, 19.13), and of frames
    /// with which it used up a limit. `None`: frames could not be read.
    pub blocked_ns: Option<Vec<u64>>,
    /// When nothing was in flight between data, from and for how long: both in ns. `None`: acknowledgments are not known.
    pub idle_ns: Option<Vec<(u64, u64)>>,
    /// What the tap behind the bottleneck tells of its queue. `None`: there is no such tap, or the clocks of both differ.
    pub queue: Option<QueueFacts>,
}

/// The wait of packets between the taps: how much longer they took than the fastest one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueFacts {
    /// The longest.
    pub longest_ns: u64,
    /// Send times of packets that never came to the tap behind the bottleneck, without those before any packet that did.
    pub drops_ns: Vec<u64>,
    /// How full the queue was at each drop: the wait of the last packet before it that arrived. It is the longest wait where nearly as many
    /// packets were between the taps as ever: a limit can count those that are on their way, too.
    pub waits_at_drops_ns: Vec<u64>,
    /// Whether nearly as many packets were between the taps as ever at each drop, or the wait at it was nearly the longest.
    pub at_limit: Vec<bool>,
}

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

/// A number, and the bound from which on a rule applies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Name of the metric or of the fact.
    pub name: &'static str,
    /// Its value, in the unit of its name.
    pub value: f64,
    /// The rule applies from here on. `None`: the number is there to explain.
    pub bound: Option<f64>,
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
}

/// What comes of one rule.
pub(crate) enum Outcome {
    /// It applies.
    Found { text: String, evidence: Vec<Measured>, at_ns: Option<u64> },
    /// It does not.
    No,
    /// It lacks something.
    Lacks(String),
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
    let mut verdicts = Verdicts::default();
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

impl Evidence<'_> {
    /// Why a metric is null, as far as the run says so.
    fn lacks(&self, metric: &str) -> Outcome {
        let withheld = self.run.withheld.iter().find(|one| one.metrics.iter().any(|name| name == metric));
        Outcome::Lacks(match withheld {
            Some(withheld) => format!("{metric} is not known: {}", withheld.reason),
            None => format!("{metric} is not known for this transfer"),
        })
    }
}

/// A number with the bound that it passed.
fn bound(name: &'static str, value: f64, bound: f64) -> Measured {
    Measured { name, value, bound: Some(bound) }
}

/// A number that explains.
fn number(name: &'static str, value: f64) -> Measured {
    Measured { name, value, bound: None }
}

/// A share in words: `17 %`.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A time in words: `12.3 ms`.
fn milliseconds(time_ns: u64) -> String {
    format!("{:.1} ms", time_ns as f64 / 1e6)
}
