//! From a list of stages to the queueing disciplines of a kernel.

use quiclab_units::Duration;

use crate::{loss::gilbert_elliott::GilbertElliott, probability::Probability};

/// What the kernel's queueing disciplines make of a stage.
#[derive(Clone, Debug, PartialEq)]
pub enum Kernel {
    /// Every packet waits so long.
    Delay(Duration),
    /// Every packet waits between nothing and twice the mean, and may be overtaken.
    Jitter {
        /// The mean.
        mean: Duration,
    },
    /// Independent loss.
    Loss(Probability),
    /// Loss in bursts.
    BurstLoss(GilbertElliott),
    /// Copies.
    Duplicate(Probability),
    /// Some are held back.
    Reorder {
        /// Share of these.
        held_back: Probability,
        /// How long.
        hold: Duration,
    },
    /// Packets that are dropped by their number.
    Drops(Vec<u32>),
    /// A delay line that is a queue.
    DelayLine {
        /// What each packet waits at least.
        delay: Duration,
        /// Most packets.
        limit_packets: u32,
    },
    /// First in, first out, behind the packet that waits for tokens.
    Fifo {
        /// Most packets besides that one.
        waiting_packets: u64,
    },
    /// A token bucket.
    Bucket {
        /// Tokens.
        rate_bytes_per_second: u64,
        /// Depth.
        burst_bytes: u32,
    },
    /// A link that sends one packet after the other.
    Link {
        /// Its rate.
        rate_bytes_per_second: u64,
    },
    /// Nothing of the kernel does exactly this; says why.
    Refused(String),
}
