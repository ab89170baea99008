//! First in, first out; where it is full the oldest packet is dropped, so that its sender learns of it sooner.

use quiclab_units::Time;

use super::{Limit, QueueDiscipline};
use crate::{
    content::Payload,
    fifo::Fifo,
    packet::Packet,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{Backlog, DropCause, Fates},
};

/// Drops the oldest packets of a full queue.
#[derive(Debug)]
pub struct DropHead<P> {
    limit: Limit,
    waiting: Fifo<P>,
}

impl<P> DropHead<P> {
    /// Holds as much as `limit`.
    pub fn new(limit: Limit) -> Self {
        Self { limit, waiting: Fifo::default() }
    }
}

impl<P> QueueDiscipline<P> for DropHead<P> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>, fates: &mut Fates<P>) {
        if !self.limit.has_room(Backlog::default(), packet.bytes) {
            fates.drop(packet, DropCause::QueueFull);
            return;
        }
        while !self.limit.has_room(self.waiting.backlog(), packet.bytes) {
            let Some((_, oldest)) = self.waiting.pop() else { break };
            fates.drop(oldest, DropCause::QueueFull);
        }
        self.waiting.push(now, packet);
    }

    fn dequeue(&mut self, _now: Time, _fates: &mut Fates<P>) -> Option<(Time, Packet<P>)> {
        self.waiting.pop()
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }
}

stage_settings! {
    /// First in, first out; where it is full the oldest packet is dropped, so that its sender learns of it sooner.
    DropHeadSettings: "queue", discipline = "drop_head" {
        /// how much it holds
        limit: Limit,
    }
}

impl StageKind for DropHeadSettings {
    fn part<P: Payload>(&self, _random: Random) -> Result<Part<P>, String> {
        Ok(Part::Queue(Box::new(DropHead::new(self.limit))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Refused("pfifo_head_drop drops the packet that waits for tokens as well".to_owned())
    }
}
