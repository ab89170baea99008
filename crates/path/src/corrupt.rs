//! Datagrams with a wrong byte that no checksum shows.

use quiclab_units::Time;

use crate::{
    content::Payload,
    edits::ByteChange,
    packet::Packet,
    probability::Probability,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{Out, Stage},
};

/// Changes one byte near the beginning of a datagram, and makes its checksums right again. Packets without UDP pass as they are, and count as
/// nothing.
#[derive(Clone, Debug)]
pub struct Corrupt {
    settings: CorruptSettings,
    in_a_row: u32,
    random: Random,
}

impl Corrupt {
    /// Makes a stage that changes datagrams as `settings` say.
    pub fn new(settings: CorruptSettings, random: Random) -> Self {
        Self { settings, in_a_row: 0, random }
    }

    fn is_hit(&mut self) -> bool {
        let is_full = self.settings.most_in_a_row.is_some_and(|most| self.in_a_row >= most);
        let is_hit = !is_full && self.random.unit() < self.settings.probability.get();
        self.in_a_row = if is_hit { self.in_a_row + 1 } else { 0 };
        is_hit
    }
}

impl<P: Payload> Stage<P> for Corrupt {
    fn name(&self) -> &'static str {
        "corrupt"
    }

    fn handle_packet(&mut self, _now: Time, packet: Packet<P>, out: &mut Out<P>) {
        match packet.payload.bytes_to_corrupt() {
            Some(bytes @ 1..) if self.is_hit() => {
                let offset = self.random.up_to(u64::from(bytes.min(self.settings.first_bytes)) - 1) as u32;
                // Every other value of the byte is as likely.
                let mask = 1 + self.random.up_to(254) as u8;
                out.pass_changed(packet, ByteChange { offset, mask });
            }
            _ => out.pass(packet),
        }
    }
}

stage_settings! {
    /// Changes a byte of a UDP payload to any other value and corrects the checksums, so that only the endpoint can notice. Version Negotiation
    /// packets pass unchanged. Taps behind it see the changed byte.
    CorruptSettings: "corrupt" {
        /// of a change, for each datagram
        probability: Probability,
        /// most datagrams changed in a row
        most_in_a_row: Option<u32>,
        /// the changed byte is one of so many at the beginning of the payload, all equally likely
        first_bytes: u32 = 51,
    }
}

impl StageKind for CorruptSettings {
    fn part<P: Payload>(&self, random: Random) -> Result<Part<P>, String> {
        if self.first_bytes == 0 {
            return Err("first_bytes: found 0, expected at least 1".to_owned());
        }
        Ok(Part::Stage(Box::new(Corrupt::new(self.clone(), random))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Refused("netem flips a bit anywhere and leaves the checksum wrong".to_owned())
    }

    fn changes_bytes(&self) -> bool {
        true
    }
}
