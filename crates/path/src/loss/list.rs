//! Loss of packets that were named beforehand.

use std::collections::BTreeSet;

use quiclab_units::Time;

use crate::{
    content::Payload,
    packet::Packet,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part, value::PacketNumbers},
    stage::{DropCause, Out, Stage},
};

/// Drops the packets whose numbers are on a list.
#[derive(Clone, Debug)]
pub struct ListedLoss {
    numbers: BTreeSet<u64>,
}

impl ListedLoss {
    /// Numbers are counted from 1, where packets enter the path.
    pub fn new(numbers: BTreeSet<u64>) -> Self {
        Self { numbers }
    }
}

impl<P> Stage<P> for ListedLoss {
    fn name(&self) -> &'static str {
        "listed-loss"
    }

    fn handle_packet(&mut self, _now: Time, packet: Packet<P>, out: &mut Out<P>) {
        if self.numbers.contains(&packet.number) {
            out.drop(packet, DropCause::Listed);
        } else {
            out.pass(packet);
        }
    }
}

stage_settings! {
    /// Loses the packets of a list, by their number where they enter this direction of the path.
    ListedLossSettings: "loss", model = "list" {
        /// the numbers, from 1
        packets: PacketNumbers,
    }
}

impl StageKind for ListedLossSettings {
    fn part<P: Payload>(&self, _random: Random) -> Result<Part<P>, String> {
        Ok(Part::Stage(Box::new(ListedLoss::new(self.packets.0.iter().map(|number| u64::from(*number)).collect()))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Drops(self.packets.0.clone())
    }
}
