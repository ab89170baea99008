//! Packets that arrive twice.

use quiclab_units::Time;

use crate::{
    content::Payload,
    packet::Packet,
    probability::Probability,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{Out, Stage},
};

/// Sends a copy right behind some packets.
#[derive(Clone, Debug)]
pub struct Duplicate {
    probability: Probability,
    random: Random,
}

impl Duplicate {
    /// Makes a stage that duplicates each packet with this probability.
    pub fn new(probability: Probability, random: Random) -> Self {
        Self { probability, random }
    }
}

impl<P: Clone> Stage<P> for Duplicate {
    fn name(&self) -> &'static str {
        "duplicate"
    }

    fn handle_packet(&mut self, _now: Time, packet: Packet<P>, out: &mut Out<P>) {
        let copy = (self.random.unit() < self.probability.get()).then(|| packet.clone());
        out.pass(packet);
        if let Some(copy) = copy {
            out.pass_copy(copy);
        }
    }
}

stage_settings! {
    /// Sends a copy right behind some packets.
    DuplicateSettings: "duplicate" {
        /// share of packets that are copied
        probability: Probability,
    }
}

impl StageKind for DuplicateSettings {
    fn part<P: Payload>(&self, random: Random) -> Result<Part<P>, String> {
        Ok(Part::Stage(Box::new(Duplicate::new(self.probability, random))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Duplicate(self.probability)
    }
}
