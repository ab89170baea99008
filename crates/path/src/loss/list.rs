//! Loss of packets that were named beforehand.

use std::collections::BTreeSet;

use quiclab_units::Time;

use crate::{
    packet::Packet,
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
