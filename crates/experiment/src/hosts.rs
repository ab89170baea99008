//! What differs from a host's defaults: queueing discipline, offloads of the card, and how busy the host is.

use quiclab_units::{ByteCount, Duration, Rate};
use serde::{Deserialize, Serialize};

/// What differs from a host's defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// Queueing discipline of the server's interface.
    pub server_qdisc: Qdisc,
    /// The clock of the queueing discipline `gso_pace` (kernel/module) around it, which takes buffers of several packets apart and gives
    /// each its send time: what `stack.gso = "paced"` needs of a kernel that cannot do it by itself. `None`: it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_pacing: Option<Clock>,
    /// How long the guest's CPU takes for an instruction: a power of two, from 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub nanoseconds_per_instruction: u32,
    /// By how much the endpoints' timers may be late so that several can end at once (`PR_SET_TIMERSLACK`).
    #[serde(with = "crate::quantity", default = "usual_timer_slack", skip_serializing_if = "is_usual_timer_slack")]
    pub timer_slack: Duration,
    /// Least time between two bundles in which packets reach the server, as with a network card that bundles its interrupts; 0 for each
    /// by itself.
    #[serde(with = "crate::quantity", default, skip_serializing_if = "is_zero")]
    pub receive_coalescing: Duration,
    /// Time that the guest's CPU is taken away from everything; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thefts: Option<Thefts>,
    /// What a simulated host is like; the virtual machine's hosts are real ones, which have none of it.
    #[serde(default, skip_serializing_if = "HostModel::is_ideal")]
    pub model: HostModel,
    /// Receive buffer of every socket that does not ask for its own size; 1 B to 1 GiB.
    #[serde(with = "crate::quantity")]
    pub udp_receive_buffer: ByteCount,
    /// Send buffer of every socket that does not ask for its own size; 1 B to 1 GiB.
    #[serde(with = "crate::quantity")]
    pub udp_send_buffer: ByteCount,
}

impl Hosts {
    /// What every thread of Linux has.
    pub const USUAL_TIMER_SLACK: Duration = Duration::from_micros(50);

    /// True where the guest's kernel needs the modules of kernel/module.
    pub fn needs_modules(&self) -> bool {
        self.segment_pacing.is_some() || self.thefts.is_some()
    }
}

/// What a simulated host costs and how late it is. The default costs nothing and is never late.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostModel {
    /// The endpoints' timers end at multiples of it; 0 for at any time.
    #[serde(with = "crate::quantity")]
    pub timer_step: Duration,
    /// Mean of the exponentially distributed time by which they end later than that.
    #[serde(with = "crate::quantity")]
    pub timer_lateness: Duration,
    /// CPU time of a system call that sends or receives.
    #[serde(with = "crate::quantity")]
    pub call_cost: Duration,
    /// CPU time of a packet that is sent or received.
    #[serde(with = "crate::quantity")]
    pub packet_cost: Duration,
    /// Of the network card; `None` for one that takes no time.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub card_rate: Option<Rate>,
}

impl HostModel {
    /// True for a host that costs nothing and is never late.
    pub fn is_ideal(&self) -> bool {
        self.first_set().is_none()
    }

    /// Name of the first value that is not the default one.
    pub fn first_set(&self) -> Option<&'static str> {
        let Self { timer_step, timer_lateness, call_cost, packet_cost, card_rate } = self;
        let is_set = |duration: &Duration| *duration != Duration::default();
        let all = [
            ("timer_step", is_set(timer_step)),
            ("timer_lateness", is_set(timer_lateness)),
            ("call_cost", is_set(call_cost)),
            ("packet_cost", is_set(packet_cost)),
            ("card_rate", card_rate.is_some()),
        ];
        all.into_iter().find_map(|(name, is_set)| is_set.then_some(name))
    }
}

/// A queueing discipline of Linux.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Qdisc {
    /// No queue: `noqueue`, the default of a virtual Ethernet.
    None,
    /// Three first-in first-out bands.
    PfifoFast,
    /// Fair queueing with send times on `CLOCK_MONOTONIC`.
    Fq(FairQueueing),
    /// Fair queueing with controlled delay.
    FqCodel,
    /// Earliest TxTime first, send times on `CLOCK_TAI`. Drops what has none.
    Etf {
        /// How long before its send time a packet is taken up; more than 0.
        #[serde(with = "crate::quantity")]
        delta: Duration,
        /// Whether the send time is a deadline: packets leave as soon as they can, in the order of their times.
        #[serde(default, skip_serializing_if = "is_false")]
        deadline: bool,
    },
}

/// Parameters of the queueing discipline `fq`; `None` leaves the kernel's own value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FairQueueing {
    /// Most packets of one flow in the queue; from 1.
    pub flow_limit_packets: u32,
    /// Most packets in the queue; from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_packets: Option<u32>,
    /// Bytes that a flow may send before it is the next one's turn; from 1.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub quantum: Option<ByteCount>,
    /// The same, for a new flow's first turn; from 1.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub initial_quantum: Option<ByteCount>,
    /// A rate that no flow may exceed, whatever its packets' send times say.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub maximum_rate: Option<Rate>,
    /// How far ahead a send time may be; packets beyond are dropped.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub horizon: Option<Duration>,
    /// By how much its timer may be late.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub timer_slack: Option<Duration>,
}

impl FairQueueing {
    /// What an experiment has that says nothing: more than any transfer keeps in the queue.
    pub const USUAL_FLOW_LIMIT_PACKETS: u32 = 10_000;
}

/// A clock of the kernel that send times can be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// `CLOCK_MONOTONIC`, that of the stacks and of `fq`.
    Monotonic,
    /// `CLOCK_TAI`, that of `etf` and of network cards.
    Tai,
}

/// Intervals in which the guest's CPU runs nothing, as if an interrupt, firmware or another machine on the same host had it. They follow
/// from the run's seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thefts {
    /// How intervals and lengths are distributed.
    pub distribution: TheftDistribution,
    /// Mean time from the end of one to the beginning of the next; more than 0.
    #[serde(with = "crate::quantity")]
    pub interval: Duration,
    /// Mean length; more than 0.
    #[serde(with = "crate::quantity")]
    pub length: Duration,
}

/// How a random time is distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TheftDistribution {
    /// Always the mean.
    Constant,
    /// Exponentially: the intervals are those of a Poisson process.
    Exponential,
    /// Intervals exponentially, lengths by Pareto's distribution of shape 2.5: many short ones, and a few that are very long.
    Pareto,
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

fn usual_timer_slack() -> Duration {
    Hosts::USUAL_TIMER_SLACK
}

fn is_usual_timer_slack(slack: &Duration) -> bool {
    *slack == Hosts::USUAL_TIMER_SLACK
}

fn is_zero(time: &Duration) -> bool {
    *time == Duration::default()
}

fn is_false(value: &bool) -> bool {
    !value
}
