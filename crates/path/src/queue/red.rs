//! Random Early Detection (Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993), and its gentle form
//! (Floyd, "Recommendation on using the gentle_ variant of RED", 2000).

use quiclab_units::{Duration, Time};

use super::{Limit, QueueDiscipline};
use crate::{
    content::Payload,
    fifo::Fifo,
    packet::Packet,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{Backlog, DropCause, Fates},
};

/// The parameters of the paper, in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedSettings {
    /// `w_q`: the weight of the queue's length in its average; above 0, at most 1. The paper has 0.002.
    pub weight: f64,
    /// `min_th`: below this average nothing is dropped early.
    pub least_threshold: f64,
    /// `max_th`: from this average everything is dropped; in the gentle form, from twice it.
    pub most_threshold: f64,
    /// `max_p`: the probability of a drop just below `max_th`.
    pub most_probability: f64,
    /// Whether the probability rises from `max_p` to 1 between `max_th` and twice it.
    pub is_gentle: bool,
    /// `s`: how long a typical packet takes on the link, by which an idle queue is thought to have shrunk.
    pub packet_time: Duration,
}

/// What is wrong with the parameters of [`RedSettings`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("RED: found {found}, expected {expected}")]
pub struct RedError {
    found: String,
    expected: &'static str,
}

/// One queue under RED, which also has a hard limit.
pub struct Red<P> {
    settings: RedSettings,
    limit: Limit,
    random: Random,
    waiting: Fifo<P>,
    average: f64,
    /// Packets since the last drop or mark; `None` while the average is below the threshold.
    count: Option<u64>,
    /// Time since which the queue has been empty; `None` while it is not.
    empty_since: Option<Time>,
}

impl<P> Red<P> {
    /// Holds as much as `limit` at most; empty since the beginning of time.
    ///
    /// # Errors
    /// Where a parameter is out of its range.
    pub fn new(settings: RedSettings, limit: Limit, random: Random) -> Result<Self, RedError> {
        let RedSettings { weight, least_threshold, most_threshold, most_probability, .. } = settings;
        let check =
            |holds: bool, found: String, expected| if holds { Ok(()) } else { Err(RedError { found, expected }) };
        check(weight > 0.0 && weight <= 1.0, format!("a weight of {weight}"), "more than 0, at most 1")?;
        check(
            least_threshold >= 0.0 && most_threshold > least_threshold,
            format!("thresholds of {least_threshold} and {most_threshold}"),
            "0 or more, and more than that",
        )?;
        check(
            most_probability > 0.0 && most_probability <= 1.0,
            format!("a probability of {most_probability}"),
            "more than 0, at most 1",
        )?;
        check(settings.packet_time > Duration::ZERO, "a packet time of 0 ns".to_owned(), "more than 0")?;
        Ok(Self {
            settings,
            limit,
            random,
            waiting: Fifo::default(),
            average: 0.0,
            count: None,
            empty_since: Some(Time::from_nanos(0)),
        })
    }

    /// The average length of the queue in packets, as of the last packet that came.
    pub fn average(&self) -> f64 {
        self.average
    }

    fn update_average(&mut self, now: Time) {
        let weight = self.settings.weight;
        match self.empty_since {
            None => self.average += weight * (self.waiting.backlog().packets as f64 - self.average),
            Some(since) => {
                let idle = now.checked_since(since).unwrap_or_default().as_nanos() as f64;
                let packets = idle / self.settings.packet_time.as_nanos() as f64;
                self.average *= libm::pow(1.0 - weight, packets);
            }
        }
    }

    /// Returns the average from which on every packet is dropped, also one that could be marked (RFC 3168, section 7).
    fn upper_threshold(&self) -> f64 {
        let most = self.settings.most_threshold;
        if self.settings.is_gentle { 2.0 * most } else { most }
    }

    /// Whether the packet that comes now is to be dropped early.
    fn is_chosen(&mut self) -> bool {
        let RedSettings { least_threshold: least, most_threshold: most, most_probability, .. } = self.settings;
        if self.average < least {
            self.count = None;
            return false;
        }
        let base = if self.average < most {
            most_probability * (self.average - least) / (most - least)
        } else if self.average < self.upper_threshold() {
            most_probability + (1.0 - most_probability) * (self.average - most) / most
        } else {
            self.count = Some(0);
            return true;
        };
        let count = self.count.map_or(0, |count| count + 1);
        self.count = Some(count);
        // Spreads the drops evenly: the number of packets between two is uniform.
        let spread = 1.0 - count as f64 * base;
        let is_chosen = spread <= 0.0 || self.random.unit() < base / spread;
        if is_chosen {
            self.count = Some(0);
        }
        is_chosen
    }
}

impl<P> QueueDiscipline<P> for Red<P> {
    fn enqueue(&mut self, now: Time, mut packet: Packet<P>, fates: &mut Fates<P>) {
        self.update_average(now);
        if self.is_chosen() && !(self.average < self.upper_threshold() && fates.mark(&mut packet)) {
            fates.drop(packet, DropCause::Early);
        } else if self.limit.has_room(self.waiting.backlog(), packet.bytes) {
            self.empty_since = None;
            self.waiting.push(now, packet);
        } else {
            self.count = Some(0);
            fates.drop(packet, DropCause::QueueFull);
        }
    }

    fn dequeue(&mut self, now: Time, _fates: &mut Fates<P>) -> Option<(Time, Packet<P>)> {
        let next = self.waiting.pop()?;
        if self.waiting.backlog().packets == 0 {
            self.empty_since = Some(now);
        }
        Some(next)
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }
}

stage_settings! {
    /// Random Early Detection (Floyd and Jacobson 1993): drops, or marks, on arrival with a probability that grows with the average length
    /// of the queue.
    RedStageSettings: "queue", discipline = "red" {
        /// how much it holds at most
        limit: Limit,
        /// weight of the queue's length in its average, above 0 and at most 1
        weight: f64 = 0.002,
        /// in packets: below this average nothing is dropped early
        least_threshold: f64,
        /// in packets: from this average everything is dropped; in the gentle form, from twice it
        most_threshold: f64,
        /// of a drop just below `most_threshold`
        most_probability: f64 = 0.1,
        /// whether the probability rises to 1 between `most_threshold` and twice it
        is_gentle: bool = true,
        /// how long a typical packet takes on the link, by which an idle queue is taken to shrink
        packet_time: Duration,
    }
}

impl StageKind for RedStageSettings {
    fn part<P: Payload>(&self, random: Random) -> Result<Part<P>, String> {
        let settings = RedSettings {
            weight: self.weight,
            least_threshold: self.least_threshold,
            most_threshold: self.most_threshold,
            most_probability: self.most_probability,
            is_gentle: self.is_gentle,
            packet_time: self.packet_time,
        };
        Red::new(settings, self.limit, random).map(|red| Part::Queue(Box::new(red))).map_err(|error| error.to_string())
    }

    fn kernel(&self) -> Kernel {
        Kernel::Refused("its RED averages bytes, with weights that are powers of two, and is not gentle".to_owned())
    }
}
