//! What the stages of a path counted: the same in answers of the agent, in records and in reports.

use std::collections::BTreeMap;

use quiclab_path::{content::rule::MatchCounts, pipeline::Account, stage::DropCause};
use serde::{Deserialize, Serialize};

/// Name of the count of datagrams that a rule was asked about, in [`StageSeen::counts`].
pub const ASKED: &str = "asked";
/// Name of the count of datagrams of which a rule could not decide.
const UNDECIDED: &str = "undecided";

/// What one stage of a path, or one queue of a host, did to packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageSeen {
    /// Name of the stage, such as `rate`; unique within its direction.
    pub name: String,
    /// What implements it, such as `tbf` (a queueing discipline of Linux) or `token_bucket` (a stage of a pipeline).
    pub kind: String,
    /// Packets that left it.
    pub packets_passed: u64,
    /// Bytes of their frames; `None` where they were not counted.
    pub bytes_passed: Option<u64>,
    /// Packets that it dropped, by cause, such as `queue_full`. Causes without packets are absent.
    pub drops: BTreeMap<String, u64>,
    /// Packets that were waiting in it at the end.
    pub packets_waiting: u64,
    /// Bytes of their frames.
    pub bytes_waiting: u64,
    /// What only this kind counts, by name.
    pub counts: BTreeMap<String, u64>,
}

impl StageSeen {
    /// A stage that has seen nothing.
    pub fn new(name: &str, kind: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            packets_passed: 0,
            bytes_passed: None,
            drops: BTreeMap::new(),
            packets_waiting: 0,
            bytes_waiting: 0,
            counts: BTreeMap::new(),
        }
    }

    /// What a stage of a pipeline did, by its account and by the counts of the rule that it asks.
    pub fn of_pipeline(name: &str, kind: &str, account: &Account, rule: MatchCounts) -> Self {
        let counted = |(name, count): (&str, u64)| (count > 0).then(|| (name.to_owned(), count));
        let counts = [
            (ASKED, rule.asked),
            ("copied", account.copied),
            ("corrupted", account.corrupted),
            ("marked", account.marked),
            (UNDECIDED, rule.undecided),
        ];
        Self {
            packets_passed: account.left,
            drops: DropCause::ALL
                .map(|cause| (cause.name(), account.dropped(cause)))
                .into_iter()
                .filter_map(counted)
                .collect(),
            packets_waiting: account.waiting.packets,
            bytes_waiting: account.waiting.bytes,
            counts: counts.into_iter().filter_map(counted).collect(),
            ..Self::new(name, &kind.replace('-', "_"))
        }
    }

    /// What the rule did that this stage asks what datagrams hold; it drops all that the rule matches.
    pub fn rule_counts(&self) -> MatchCounts {
        let of = |counts: &BTreeMap<String, u64>, name: &str| counts.get(name).copied().unwrap_or(0);
        MatchCounts {
            asked: of(&self.counts, ASKED),
            matched: of(&self.drops, DropCause::Content.name()),
            undecided: of(&self.counts, UNDECIDED),
        }
    }

    /// Packets that went in: those that left, were dropped, or were still waiting.
    pub fn packets_entered(&self) -> u64 {
        self.packets_passed + self.all_drops() + self.packets_waiting
    }

    /// Packets dropped for any cause.
    pub fn all_drops(&self) -> u64 {
        self.drops.values().sum()
    }
}
