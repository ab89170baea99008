//! Bits that flip on the way.

use quiclab_units::Time;

use crate::{
    packet::Packet,
    probability::Probability,
    random::Random,
    stage::{Out, Stage},
};

/// Flips each bit with the same probability. A packet with a flipped bit goes on, marked as corrupt; which bits flipped is up to whoever
/// holds the bytes.
#[derive(Clone, Debug)]
pub struct BitErrors {
    /// The natural logarithm of the probability that one bit stays as it is.
    log_whole: f64,
    random: Random,
}

impl BitErrors {
    /// Of this probability per bit.
    pub fn new(per_bit: Probability, random: Random) -> Self {
        Self { log_whole: libm::log1p(-per_bit.get()), random }
    }
}

impl<P> Stage<P> for BitErrors {
    fn name(&self) -> &'static str {
        "bit-errors"
    }

    fn handle_packet(&mut self, _now: Time, packet: Packet<P>, out: &mut Out<P>) {
        let bits = f64::from(packet.bytes) * 8.0;
        // 1 - (1 - p)^bits, exact for the smallest p as well.
        let is_hit = self.random.unit() < -libm::expm1(bits * self.log_whole);
        if is_hit { out.pass_corrupted(packet) } else { out.pass(packet) }
    }
}
