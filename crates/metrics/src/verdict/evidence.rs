//! What a rule looks at, what comes of it, and numbers in words.

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

/// What comes of one rule.
pub(crate) enum Outcome {
    /// It applies.
    Found { text: String, evidence: Vec<Measured>, at_ns: Option<u64> },
    /// It does not.
    No,
    /// It lacks something.
    Lacks(String),
}

impl Evidence<'_> {
    /// Why a metric is null, as far as the run says so.
    pub(super) fn lacks(&self, metric: &str) -> Outcome {
        let withheld = self.run.withheld.iter().find(|one| one.metrics.iter().any(|name| name == metric));
        Outcome::Lacks(match withheld {
            Some(withheld) => format!("{metric} is not known: {}", withheld.reason),
            None => format!("{metric} is not known for this transfer"),
        })
    }
}

/// A number with the bound that it passed.
pub(super) fn bound(name: &'static str, value: f64, bound: f64) -> Measured {
    Measured { name, value, bound: Some(bound) }
}

/// A number that explains.
pub(super) fn number(name: &'static str, value: f64) -> Measured {
    Measured { name, value, bound: None }
}

/// A share in words: `17 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A time in words: `12.3 ms`.
pub(super) fn milliseconds(time_ns: u64) -> String {
    format!("{:.1} ms", time_ns as f64 / 1e6)
}
