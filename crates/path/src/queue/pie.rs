//! Proportional Integral Controller Enhanced (RFC 8033): drops on arrival with a probability that follows the queue's delay.

use quiclab_units::{ByteCount, Duration, Time};

use super::{Limit, QueueDiscipline};
use crate::{
    content::Payload,
    fifo::Fifo,
    packet::Packet,
    probability::Probability,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{Backlog, DropCause, Fates},
};

/// What PIE is to hold; the defaults are those of RFC 8033, section 4 and 5.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieSettings {
    /// `QDELAY_REF`: the delay it aims at, 15 ms.
    pub target: Duration,
    /// `T_UPDATE`: how often the probability is computed, 15 ms.
    pub update_interval: Duration,
    /// `alpha`, per second: 0.125.
    pub alpha: f64,
    /// `beta`, per second: 1.25.
    pub beta: f64,
    /// `MAX_BURST`: for how long a new burst is left alone, 150 ms.
    pub burst_allowance: Duration,
    /// `MEAN_PKTSIZE`: with twice as many bytes waiting or fewer nothing is dropped.
    pub mean_packet_bytes: u32,
    /// `mark_ecnth`: from this probability on packets are dropped that could be marked, 0.1.
    pub most_marking_probability: f64,
}

impl Default for PieSettings {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            update_interval: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            burst_allowance: Duration::from_millis(150),
            mean_packet_bytes: 1000,
            most_marking_probability: 0.1,
        }
    }
}

/// One queue under PIE, which also has a hard limit. The delay is that of the packet which left last, or 0 where nothing waits.
pub struct Pie<P> {
    settings: PieSettings,
    limit: Limit,
    random: Random,
    waiting: Fifo<P>,
    probability: f64,
    /// The delay of the packet that left last, in seconds; 0 where nothing waits.
    delay: f64,
    /// The delay at the last update, in seconds.
    delay_before: f64,
    /// What is left of the time in which a burst is left alone, in nanoseconds.
    burst_left: u64,
    next_update: Time,
}

impl<P> Pie<P> {
    /// Holds as much as `limit` at most.
    pub fn new(settings: PieSettings, limit: Limit, random: Random) -> Self {
        Self {
            settings,
            limit,
            random,
            waiting: Fifo::default(),
            probability: 0.0,
            delay: 0.0,
            delay_before: 0.0,
            burst_left: settings.burst_allowance.as_nanos(),
            next_update: Time::from_nanos(0),
        }
    }

    /// The probability of a drop as of the last packet that came or left.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Runs the updates that were due by `now`. Nothing that they look at has changed since the last packet, so late is as good as in time.
    fn update(&mut self, now: Time) {
        while self.next_update <= now {
            self.update_probability();
            self.next_update = self.next_update + self.settings.update_interval;
            if self.is_at_rest() && self.next_update <= now {
                let late = now.checked_since(self.next_update).unwrap_or_default().as_nanos();
                let interval = self.settings.update_interval.as_nanos();
                self.next_update = self.next_update + Duration::from_nanos((late / interval + 1) * interval);
            }
        }
    }

    /// True where another update would change nothing.
    fn is_at_rest(&self) -> bool {
        self.probability == 0.0 && self.delay == 0.0 && self.delay_before == 0.0 && self.burst_left == 0
    }

    /// RFC 8033, section 4.2, with the steps of section 4.2's table and the decay of its end.
    fn update_probability(&mut self) {
        let target = self.settings.target.as_secs_f64();
        let mut step =
            self.settings.alpha * (self.delay - target) + self.settings.beta * (self.delay - self.delay_before);
        step /= match self.probability {
            below if below < 0.000_001 => 2048.0,
            below if below < 0.000_01 => 512.0,
            below if below < 0.000_1 => 128.0,
            below if below < 0.001 => 32.0,
            below if below < 0.01 => 8.0,
            below if below < 0.1 => 2.0,
            _ => 1.0,
        };
        self.probability += step;
        if self.delay == 0.0 && self.delay_before == 0.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.delay_before = self.delay;
        self.burst_left = self.burst_left.saturating_sub(self.settings.update_interval.as_nanos());
    }

    /// RFC 8033, section 4.1 and 4.4: whether the packet that comes is dropped or marked.
    fn is_chosen(&mut self) -> bool {
        let half = self.settings.target.as_secs_f64() / 2.0;
        if self.probability == 0.0 && self.delay < half && self.delay_before < half {
            self.burst_left = self.settings.burst_allowance.as_nanos();
        }
        let is_short = self.waiting.backlog().bytes <= 2 * u64::from(self.settings.mean_packet_bytes);
        if self.burst_left > 0 || (self.delay_before < half && self.probability < 0.2) || is_short {
            return false;
        }
        self.random.unit() < self.probability
    }
}

impl<P> QueueDiscipline<P> for Pie<P> {
    fn enqueue(&mut self, now: Time, mut packet: Packet<P>, fates: &mut Fates<P>) {
        self.update(now);
        let may_mark = self.probability < self.settings.most_marking_probability;
        if self.is_chosen() && !(may_mark && fates.mark(&mut packet)) {
            fates.drop(packet, DropCause::Early);
        } else if self.limit.has_room(self.waiting.backlog(), packet.bytes) {
            self.waiting.push(now, packet);
        } else {
            fates.drop(packet, DropCause::QueueFull);
        }
    }

    fn dequeue(&mut self, now: Time, _fates: &mut Fates<P>) -> Option<(Time, Packet<P>)> {
        self.update(now);
        let (entered, packet) = self.waiting.pop()?;
        self.delay = match self.waiting.backlog().packets {
            0 => 0.0,
            _ => now.checked_since(entered).unwrap_or_default().as_secs_f64(),
        };
        Some((entered, packet))
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }
}

stage_settings! {
    /// Proportional Integral Controller Enhanced (RFC 8033): drops, or marks, on arrival with a probability that follows the queue's
    /// delay.
    PieStageSettings: "queue", discipline = "pie" {
        /// how much it holds at most
        limit: Limit,
        /// the delay it aims at
        target: Duration = PieSettings::default().target,
        /// how often the probability is computed
        update_interval: Duration = PieSettings::default().update_interval,
        /// weight of the distance from the target, per second
        alpha: f64 = PieSettings::default().alpha,
        /// weight of the delay's change, per second
        beta: f64 = PieSettings::default().beta,
        /// for how long a new burst is left alone
        burst_allowance: Duration = PieSettings::default().burst_allowance,
        /// with twice as many bytes waiting or fewer nothing is dropped
        mean_packet: ByteCount = ByteCount::from_bytes(1000),
        /// from this probability on packets are dropped that could be marked
        most_marking_probability: Probability = Probability::TENTH,
    }
}

impl StageKind for PieStageSettings {
    fn part<P: Payload>(&self, random: Random) -> Result<Part<P>, String> {
        if self.update_interval == Duration::ZERO {
            return Err("update_interval: found 0 ns, expected more".to_owned());
        }
        let mean_packet_bytes = u32::try_from(self.mean_packet.as_bytes())
            .map_err(|_| format!("mean_packet: found {}, expected less than 4 GiB", self.mean_packet))?;
        let settings = PieSettings {
            target: self.target,
            update_interval: self.update_interval,
            alpha: self.alpha,
            beta: self.beta,
            burst_allowance: self.burst_allowance,
            mean_packet_bytes,
            most_marking_probability: self.most_marking_probability.get(),
        };
        Ok(Part::Queue(Box::new(Pie::new(settings, self.limit, random))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Refused(
            "its PIE counts updates in timer ticks and leaves queues of two frames alone, not of 2 kB".to_owned(),
        )
    }
}
