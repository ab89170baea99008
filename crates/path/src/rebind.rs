//! An address translator that changes its mind: from time to time the client has another port, or another address and port.

use quiclab_units::{Duration, Time};

use crate::{
    content::Payload,
    edits::Translation,
    packet::Packet,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{DropCause, Out, Stage},
};

/// Says by which binding a packet to the server leaves, and drops packets to the client that come to an earlier one.
#[derive(Clone, Debug)]
pub struct Rebind {
    settings: RebindSettings,
}

impl<P: Payload> Stage<P> for Rebind {
    fn name(&self) -> &'static str {
        "rebind"
    }

    fn handle_packet(&mut self, now: Time, mut packet: Packet<P>, out: &mut Out<P>) {
        let current = self.settings.binding(now);
        match packet.payload.translation() {
            Translation::Inward(binding) if binding != current => out.drop(packet, DropCause::Rebound),
            Translation::Outward => {
                packet.edits_mut().binding = Some(current);
                out.pass(packet);
            }
            _ => out.pass(packet),
        }
    }
}

stage_settings! {
    /// A network address translator that forgets its bindings: at each change the client's port, as the server sees it, becomes a random
    /// other one, and with `address` the client's address too. What the server sent to an earlier one is dropped. It must be in both lists, with
    /// the same settings.
    RebindSettings: "rebind" {
        /// of the first change, counted from the start of the run
        first: Duration,
        /// time between later changes; without it there is only one
        every: Option<Duration>,
        /// whether the address changes too: its last byte
        address: bool = false,
    }
}

impl RebindSettings {
    /// Changes up to `now`: 0 before the first one.
    pub fn binding(&self, now: Time) -> u32 {
        let Some(since_first) = now.as_nanos().checked_sub(self.first.as_nanos()) else { return 0 };
        let more = self.every.map_or(0, |every| since_first / every.as_nanos().max(1));
        u32::try_from(more + 1).unwrap_or(u32::MAX)
    }
}

impl StageKind for RebindSettings {
    fn part<P: Payload>(&self, _random: Random) -> Result<Part<P>, String> {
        const LEAST: Duration = Duration::from_millis(1);
        if self.every.is_some_and(|every| every < LEAST) {
            return Err(format!("every: found \"{}\", expected at least \"{LEAST}\"", self.every.unwrap_or_default()));
        }
        Ok(Part::Stage(Box::new(Rebind { settings: self.clone() })))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Refused("its queueing disciplines do not translate addresses".to_owned())
    }

    fn changes_bytes(&self) -> bool {
        true
    }
}
