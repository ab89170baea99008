//! Packets that are overtaken by others.

use quiclab_units::{Duration, Time};

use crate::{
    content::Payload,
    jitter::Travelling,
    packet::Packet,
    probability::Probability,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{Backlog, Out, Stage},
};

/// Holds some packets back for a while; the others pass at once.
pub struct Reorder<P> {
    probability: Probability,
    hold: Duration,
    random: Random,
    held: Travelling<P>,
}

impl<P> Reorder<P> {
    /// Holds back so many, each for `hold`.
    pub fn new(probability: Probability, hold: Duration, random: Random) -> Self {
        Self { probability, hold, random, held: Travelling::default() }
    }
}

impl<P> Stage<P> for Reorder<P> {
    fn name(&self) -> &'static str {
        "reorder"
    }

    fn handle_packet(&mut self, now: Time, packet: Packet<P>, out: &mut Out<P>) {
        if self.random.unit() < self.probability.get() {
            self.held.push(now + self.hold, packet);
        } else {
            out.pass(packet);
        }
    }

    fn next_time(&self) -> Option<Time> {
        self.held.next_time()
    }

    fn handle_timeout(&mut self, now: Time, out: &mut Out<P>) {
        self.held.pass_due(now, out);
    }

    fn backlog(&self) -> Backlog {
        self.held.backlog
    }
}

stage_settings! {
    /// Holds some packets back for a while, so that those behind overtake them. The others pass at once.
    ReorderSettings: "reorder" {
        /// share of packets that are held back
        probability: Probability,
        /// how long each is held back
        hold: Duration,
    }
}

impl StageKind for ReorderSettings {
    fn part<P: Payload>(&self, random: Random) -> Result<Part<P>, String> {
        Ok(Part::Stage(Box::new(Reorder::new(self.probability, self.hold, random))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Reorder { held_back: self.probability, hold: self.hold }
    }

    fn longest_delay(&self) -> Duration {
        self.hold
    }
}
