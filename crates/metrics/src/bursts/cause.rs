//! Why packets left close together: the causes, and a long train with its own.

use serde::{Deserialize, Serialize};

/// What most likely made a sender send a long train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BurstCause {
    /// Nothing was acknowledged yet: the initial window.
    StartUp,
    /// The ACK before it ended a loss recovery.
    RecoveryEnd,
    /// The stack planned to send the packets apart, and they left together: its timer, or who held the CPU, was late.
    LateTimer,
    /// Handed over together: one system call for many packets (GSO, sendmmsg), or one release by the queueing discipline.
    /// Planned for the same time, or back to back at line rate.
    Batch,
    /// Nothing was in flight: the application had had nothing to send.
    ApplicationPause,
    /// The window had room for more, and the train has the length of the sender's longest trains of that kind: the pacer's
    /// bucket was full, and the train emptied it.
    Bucket,
    /// ACKs freed so much window at once, by what they acknowledged and by what they showed to be lost.
    Ack,
    /// Nothing shows one of these causes.
    Unknown,
}

impl BurstCause {
    /// All causes, in the order in which they are looked for.
    pub const ALL: [BurstCause; 8] = [
        BurstCause::StartUp,
        BurstCause::RecoveryEnd,
        BurstCause::LateTimer,
        BurstCause::Batch,
        BurstCause::ApplicationPause,
        BurstCause::Bucket,
        BurstCause::Ack,
        BurstCause::Unknown,
    ];

    /// The cause in words.
    pub fn name(self) -> &'static str {
        match self {
            BurstCause::StartUp => "start-up",
            BurstCause::RecoveryEnd => "end of recovery",
            BurstCause::LateTimer => "late timer",
            BurstCause::Batch => "batch (GSO, sendmmsg, qdisc)",
            BurstCause::ApplicationPause => "application pause",
            BurstCause::Bucket => "full bucket of the pacer",
            BurstCause::Ack => "ACK",
            BurstCause::Unknown => "unknown",
        }
    }
}

/// A long train with its cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// Time from the sender's first packet to the beginning of the train, in ns.
    pub start_ns: u64,
    /// Packets in it.
    pub packets: u64,
    /// Bytes of their frames.
    pub bytes: u64,
    /// The most likely cause.
    pub cause: BurstCause,
    /// What speaks for it, in words and numbers.
    pub evidence: String,
}
