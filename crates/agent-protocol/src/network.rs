//! What lies between the two hosts, as queueing disciplines of Linux.

use serde::{Deserialize, Serialize};

use crate::forwarder::Forwarder;

/// The disciplines on the way between the hosts. Each list nests: the first one is the root of its interface, the next one its
/// child, and so on. An empty list leaves the interface as the kernel made it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Disciplines on the wire's interface towards the client.
    pub to_client: Vec<Discipline>,
    /// Disciplines on the wire's interface towards the server.
    pub to_server: Vec<Discipline>,
    /// Disciplines on the server's own interface.
    pub server: Vec<Discipline>,
    /// Disciplines on the client's own interface.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client: Vec<Discipline>,
    /// Packets towards the server to drop before they reach the disciplines, counted from 1, in order.
    pub drops_to_server: Vec<u32>,
    /// Upper bound for the round trip of a packet without queueing: the delays of both directions added up. The agent waits
    /// this long, and until the queues are empty, before it reads the counters.
    pub longest_delay_ns: u64,
    /// The agent moves packets in user space; `None`: the kernel does. Both interfaces of the wire can have disciplines of their own
    /// all the same, which packets pass behind the forwarder's stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarder: Option<Forwarder>,
    /// Largest IP packet of all four interfaces; `None`: 1500 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// The algorithm of TCP for all connections between the hosts; `None`: what the kernel or a socket chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_congestion_control: Option<String>,
    /// Whether the interfaces carry super-packets, and hosts put packets together when they receive them. The taps then note how each frame is
    /// to be cut ([`TapReport::has_headers`](crate::report::TapReport::has_headers)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub super_packets: bool,
}

/// A queueing discipline and its parameters. What is `None` is left to the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Discipline {
    /// Token bucket.
    Tbf {
        /// Rate at which tokens arrive.
        rate_bytes_per_second: u64,
        /// Depth of the bucket.
        burst_bytes: u32,
        /// Most bytes that wait; a child replaces the queue this limits.
        limit_bytes: u32,
    },
    /// Delay line, which is also a queue, and can lose, copy and reorder packets.
    Netem(Netem),
    /// First in, first out.
    Pfifo {
        /// Most packets in it. One more is dropped.
        limit_packets: u32,
    },
    /// Three first-in first-out bands.
    PfifoFast,
    /// Fair queueing with controlled delay.
    FqCodel,
    /// Fair queueing with send times on `CLOCK_MONOTONIC`.
    Fq(Fq),
    /// Earliest TxTime first, with send times on `CLOCK_TAI`. Drops packets without a send time.
    Etf {
        /// How long before its send time a packet is taken up.
        delta_ns: i32,
        /// Whether the send time is a deadline.
        deadline: bool,
    },
    /// Gives each segment of a buffer its own send time (kernel/module).
    GsoPace {
        /// The clock of the send times.
        clock: Clock,
    },
}

impl Discipline {
    /// The kernel's name for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tbf { .. } => "tbf",
            Self::Netem(_) => "netem",
            Self::Pfifo { .. } => "pfifo",
            Self::PfifoFast => "pfifo_fast",
            Self::FqCodel => "fq_codel",
            Self::Fq(_) => "fq",
            Self::Etf { .. } => "etf",
            Self::GsoPace { .. } => "gso_pace",
        }
    }
}

/// Parameters of `netem`. Probabilities are shares of `u32::MAX`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Netem {
    /// How long each packet is delayed.
    pub delay_ns: u64,
    /// Most packets in it. One more is dropped.
    pub limit_packets: u32,
    /// Least time between two slots in which packets leave; `None`: packets leave when they are due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot_ns: Option<u64>,
    /// The delay is drawn uniformly from this much less to this much more than `delay_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_ns: Option<u64>,
    /// Packets leave one after the other at this rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bytes_per_second: Option<u64>,
    /// Probability that a packet is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<u32>,
    /// Loss in bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLoss>,
    /// Probability that a packet is copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<u32>,
    /// Probability that a packet is not delayed, and overtakes those that are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
}

/// A channel that is good or bad (Gilbert and Elliott); begins good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BurstLoss {
    /// Probability of a change from good to bad.
    pub to_bad: u32,
    /// Probability of a change from bad to good.
    pub to_good: u32,
    /// Probability that a packet passes while the channel is bad.
    pub pass_in_bad: u32,
    /// Probability that a packet is lost while the channel is good.
    pub loss_in_good: u32,
}

/// Parameters of `fq`, in the kernel's own units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fq {
    /// Most packets of one flow in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_limit_packets: Option<u32>,
    /// Most packets in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_packets: Option<u32>,
    /// Bytes that a flow may send before it is the next one's turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantum_bytes: Option<u32>,
    /// The same for a new flow's first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_quantum_bytes: Option<u32>,
    /// A rate that no flow exceeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum_bytes_per_second: Option<u32>,
    /// How far ahead a send time may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horizon_us: Option<u32>,
    /// Time by which its timer may be late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_slack_ns: Option<u32>,
}

/// A clock of the kernel that send times can be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// `CLOCK_MONOTONIC`.
    Monotonic,
    /// `CLOCK_TAI`.
    Tai,
}
