//! Every packet is lost with the same probability, whatever became of the others.

use quiclab_units::Time;

use crate::{
    content::Payload,
    packet::Packet,
    probability::Probability,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{DropCause, Out, Stage},
};

/// Independent random loss.
#[derive(Clone, Debug)]
pub struct IndependentLoss {
    probability: Probability,
    random: Random,
}

impl IndependentLoss {
    /// Makes a stage that loses each packet with this probability.
    pub fn new(probability: Probability, random: Random) -> Self {
        Self { probability, random }
    }
}

impl<P> Stage<P> for IndependentLoss {
    fn name(&self) -> &'static str {
        "independent-loss"
    }

    fn handle_packet(&mut self, _now: Time, packet: Packet<P>, out: &mut Out<P>) {
        if self.random.unit() < self.probability.get() {
            out.drop(packet, DropCause::RandomLoss);
        } else {
            out.pass(packet);
        }
    }
}

stage_settings! {
    /// Loses every packet with the same probability, whatever became of the others.
    IndependentLossSettings: "loss", model = "independent" {
        /// of a loss, for each packet
        probability: Probability,
    }
}

impl StageKind for IndependentLossSettings {
    fn part<P: Payload>(&self, random: Random) -> Result<Part<P>, String> {
        Ok(Part::Stage(Box::new(IndependentLoss::new(self.probability, random))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Loss(self.probability)
    }
}
