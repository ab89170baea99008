//! Bits that flip on the way.

use quiclab_units::Time;

use crate::{
    content::Payload,
    packet::Packet,
    probability::Probability,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
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
    /// Makes a stage that flips each bit with this probability.
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

stage_settings! {
    /// Flips each bit of each packet with the same probability. Taps behind it see the flipped bit; the host's checksums detect it, and
    /// the packet does not reach the endpoint.
    BitErrorSettings: "bit_errors" {
        /// of a flip, for each bit of the frame
        per_bit: Probability,
    }
}

impl StageKind for BitErrorSettings {
    fn part<P: Payload>(&self, random: Random) -> Result<Part<P>, String> {
        Ok(Part::Stage(Box::new(BitErrors::new(self.per_bit, random))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Refused("netem corrupts packets with one probability, whatever their length".to_owned())
    }
}
