//! Random loss in which only so many packets are lost in a row.

use quiclab_units::Time;

use crate::{
    content::Payload,
    packet::Packet,
    probability::Probability,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{DropCause, Out, Stage},
};

/// Independent random loss, except that the packet behind a full run of losses always passes.
#[derive(Clone, Debug)]
pub struct LimitedLoss {
    probability: Probability,
    most_in_a_row: u32,
    in_a_row: u32,
    random: Random,
}

impl LimitedLoss {
    /// Makes a stage that loses packets with this probability, and at most so many in a row.
    pub fn new(probability: Probability, most_in_a_row: u32, random: Random) -> Self {
        Self { probability, most_in_a_row, in_a_row: 0, random }
    }
}

impl<P: Payload> Stage<P> for LimitedLoss {
    fn name(&self) -> &'static str {
        "limited-loss"
    }

    fn handle_packet(&mut self, _now: Time, packet: Packet<P>, out: &mut Out<P>) {
        if packet.payload.is_control_message() {
            out.pass(packet);
        } else if self.in_a_row < self.most_in_a_row && self.random.unit() < self.probability.get() {
            self.in_a_row += 1;
            out.drop(packet, DropCause::RandomLoss);
        } else {
            self.in_a_row = 0;
            out.pass(packet);
        }
    }
}

stage_settings! {
    /// Loses every packet with the same probability, but never more than so many in a row. Control messages of the network (ICMP) always pass and
    /// do not end a run of losses.
    LimitedLossSettings: "loss", model = "limited" {
        /// of a loss, for each packet that does not follow a full run of losses
        probability: Probability,
        /// most packets lost in a row
        most_in_a_row: u32,
    }
}

impl StageKind for LimitedLossSettings {
    fn part<P: Payload>(&self, random: Random) -> Result<Part<P>, String> {
        Ok(Part::Stage(Box::new(LimitedLoss::new(self.probability, self.most_in_a_row, random))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Refused("netem does not count losses in a row".to_owned())
    }
}
