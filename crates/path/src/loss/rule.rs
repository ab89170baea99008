//! Loss by a rule that looks at each packet.

use quiclab_units::Time;

use crate::{
    packet::Packet,
    stage::{DropCause, Out, Stage},
};

/// Drops the packets for which a rule answers true.
pub struct RuleLoss<R> {
    rule: R,
}

impl<R> RuleLoss<R> {
    /// The rule is asked once for each packet, in order, with the time.
    pub fn new(rule: R) -> Self {
        Self { rule }
    }
}

impl<P, R: FnMut(Time, &Packet<P>) -> bool> Stage<P> for RuleLoss<R> {
    fn name(&self) -> &'static str {
        "rule-loss"
    }

    fn handle_packet(&mut self, now: Time, packet: Packet<P>, out: &mut Out<P>) {
        if (self.rule)(now, &packet) {
            out.drop(packet, DropCause::Rule);
        } else {
            out.pass(packet);
        }
    }
}
