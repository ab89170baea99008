//! Delay that differs from packet to packet.

use std::{cmp::Reverse, collections::BinaryHeap};

use quiclab_units::{Duration, Time};

use crate::{
    content::Payload,
    packet::Packet,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part, value::words},
    stage::{Backlog, Out, Stage},
};

/// What a packet's delay is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JitterDistribution {
    /// Uniform between no delay and twice the mean.
    Uniform {
        /// The mean delay.
        mean: Duration,
    },
    /// Exponential: mostly short, now and then long.
    Exponential {
        /// The mean delay.
        mean: Duration,
    },
    /// Normal, with what would be negative taken as no delay.
    Normal {
        /// The mean of the whole normal distribution.
        mean: Duration,
        /// Its standard deviation.
        deviation: Duration,
    },
}

/// What a longer delay does to the packets behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// They wait, as behind a slow radio link.
    Kept,
    /// They overtake.
    Lost,
}

/// Delays each packet by a random time of its own.
pub struct Jitter<P> {
    distribution: JitterDistribution,
    order: Order,
    random: Random,
    travelling: Travelling<P>,
    /// When the packet before leaves.
    last: Time,
}

impl<P> Jitter<P> {
    /// Makes a stage that delays packets by times drawn from `distribution`.
    pub fn new(distribution: JitterDistribution, order: Order, random: Random) -> Self {
        Self { distribution, order, random, travelling: Travelling::default(), last: Time::from_nanos(0) }
    }

    fn draw(&mut self) -> Duration {
        match self.distribution {
            JitterDistribution::Uniform { mean } => {
                Duration::from_nanos(self.random.up_to(mean.as_nanos().saturating_mul(2)))
            }
            JitterDistribution::Exponential { mean } => {
                Duration::from_nanos((mean.as_nanos() as f64 * self.random.exponential()) as u64)
            }
            JitterDistribution::Normal { mean, deviation } => {
                let delay = mean.as_nanos() as f64 + deviation.as_nanos() as f64 * self.random.normal();
                Duration::from_nanos(delay as u64)
            }
        }
    }
}

impl<P> Stage<P> for Jitter<P> {
    fn name(&self) -> &'static str {
        "jitter"
    }

    fn handle_packet(&mut self, now: Time, packet: Packet<P>, out: &mut Out<P>) {
        let mut leaves = now + self.draw();
        if self.order == Order::Kept {
            leaves = leaves.max(self.last);
            self.last = leaves;
        }
        if leaves == now && self.travelling.next_time().is_none() {
            out.pass(packet);
        } else {
            self.travelling.push(leaves, packet);
        }
    }

    fn next_time(&self) -> Option<Time> {
        self.travelling.next_time()
    }

    fn handle_timeout(&mut self, now: Time, out: &mut Out<P>) {
        self.travelling.pass_due(now, out);
    }

    fn backlog(&self) -> Backlog {
        self.travelling.backlog
    }
}

/// Packets by the time at which they leave, those with the same time in the order in which they came.
pub(crate) struct Travelling<P> {
    packets: BinaryHeap<Reverse<Entry<P>>>,
    pushed: u64,
    pub(crate) backlog: Backlog,
}

struct Entry<P> {
    key: (Time, u64),
    packet: Packet<P>,
}

impl<P> PartialEq for Entry<P> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<P> Eq for Entry<P> {}

impl<P> PartialOrd for Entry<P> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Entry<P> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl<P> Default for Travelling<P> {
    fn default() -> Self {
        Self { packets: BinaryHeap::new(), pushed: 0, backlog: Backlog::default() }
    }
}

impl<P> Travelling<P> {
    pub(crate) fn push(&mut self, leaves: Time, packet: Packet<P>) {
        self.backlog.add(packet.bytes);
        self.packets.push(Reverse(Entry { key: (leaves, self.pushed), packet }));
        self.pushed += 1;
    }

    pub(crate) fn next_time(&self) -> Option<Time> {
        self.packets.peek().map(|Reverse(entry)| entry.key.0)
    }

    pub(crate) fn pass_due(&mut self, now: Time, out: &mut Out<P>) {
        while self.next_time().is_some_and(|time| time <= now) {
            let Some(Reverse(entry)) = self.packets.pop() else { return };
            self.backlog.remove(entry.packet.bytes);
            out.pass(entry.packet);
        }
    }
}

words!(Order, "\"kept\", \"lost\"", "kept" => Self::Kept, "lost" => Self::Lost);

stage_settings! {
    /// Delays each packet by a time drawn uniformly between 0 and twice the mean.
    UniformSettings: "jitter", model = "uniform" {
        /// the mean delay
        mean: Duration,
        /// whether packets behind one that is delayed for long wait ("kept") or overtake it ("lost")
        order: Order,
    }
}

stage_settings! {
    /// Delays each packet by a time drawn from an exponential distribution: mostly short, now and then long.
    ExponentialSettings: "jitter", model = "exponential" {
        /// the mean delay
        mean: Duration,
        /// as with "uniform"
        order: Order,
    }
}

stage_settings! {
    /// Delays each packet by a time drawn from a normal distribution; a negative draw is no delay.
    NormalSettings: "jitter", model = "normal" {
        /// the mean of the distribution
        mean: Duration,
        /// its standard deviation
        deviation: Duration,
        /// as with "uniform"
        order: Order,
    }
}

/// Hardly one of 10^9 draws of an exponential or a normal distribution is beyond so many means, or deviations beyond the mean.
const FAR_OUT: u64 = 20;

impl StageKind for UniformSettings {
    fn part<P: Payload>(&self, random: Random) -> Result<Part<P>, String> {
        Ok(jitter(JitterDistribution::Uniform { mean: self.mean }, self.order, random))
    }

    fn kernel(&self) -> Kernel {
        // netem keeps twice the spread in 32 bits.
        const LONGEST: Duration = Duration::from_secs(2);
        match self.order {
            Order::Lost if self.mean <= LONGEST => Kernel::Jitter { mean: self.mean },
            Order::Lost => Kernel::Refused(format!("netem draws delays of {LONGEST} on average at most")),
            Order::Kept => Kernel::Refused(ORDER_IS_LOST.to_owned()),
        }
    }

    fn longest_delay(&self) -> Duration {
        self.mean + self.mean
    }
}

impl StageKind for ExponentialSettings {
    fn part<P: Payload>(&self, random: Random) -> Result<Part<P>, String> {
        Ok(jitter(JitterDistribution::Exponential { mean: self.mean }, self.order, random))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Refused("netem draws from tables that cut the distribution off".to_owned())
    }

    fn longest_delay(&self) -> Duration {
        Duration::from_nanos(self.mean.as_nanos() * FAR_OUT)
    }
}

impl StageKind for NormalSettings {
    fn part<P: Payload>(&self, random: Random) -> Result<Part<P>, String> {
        let Self { mean, deviation, order } = *self;
        Ok(jitter(JitterDistribution::Normal { mean, deviation }, order, random))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Refused("netem draws from tables that cut the distribution off".to_owned())
    }

    fn longest_delay(&self) -> Duration {
        self.mean + Duration::from_nanos(self.deviation.as_nanos() * FAR_OUT)
    }
}

/// Why the kernel does no jitter that keeps the order.
const ORDER_IS_LOST: &str = "with netem, packets overtake those that are delayed for longer; it does order = \"lost\"";

fn jitter<P: 'static>(distribution: JitterDistribution, order: Order, random: Random) -> Part<P> {
    Part::Stage(Box::new(Jitter::new(distribution, order, random)))
}
