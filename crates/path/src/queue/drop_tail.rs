//! First in, first out; what does not fit any more is dropped.

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

/// Drops the packet that comes to a full queue.
#[derive(Debug)]
pub struct DropTail<P> {
    limit: Limit,
    waiting: Fifo<P>,
}

impl<P> DropTail<P> {
    /// Holds as much as `limit`; a queue that holds nothing drops what finds the link busy, and what finds it idle as well.
    pub fn new(limit: Limit) -> Self {
        Self { limit, waiting: Fifo::default() }
    }
}

impl<P> QueueDiscipline<P> for DropTail<P> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>, fates: &mut Fates<P>) {
        if self.limit.has_room(self.waiting.backlog(), packet.bytes) {
            self.waiting.push(now, packet);
        } else {
            fates.drop(packet, DropCause::QueueFull);
        }
    }

    fn dequeue(&mut self, _now: Time, _fates: &mut Fates<P>) -> Option<(Time, Packet<P>)> {
        self.waiting.pop()
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }
}

stage_settings! {
    /// First in, first out; what comes to a full queue is dropped. The packet that is being sent, or waits for tokens, no longer counts.
    DropTailSettings: "queue", discipline = "drop_tail" {
        /// how much it holds
        limit: Limit,
    }
}

impl StageKind for DropTailSettings {
    fn part<P: Payload>(&self, _random: Random) -> Result<Part<P>, String> {
        Ok(Part::Queue(Box::new(DropTail::new(self.limit))))
    }

    fn kernel(&self) -> Kernel {
        match self.limit {
            Limit::Packets(count) => Kernel::Fifo { waiting_packets: count },
            Limit::Bytes(_) => Kernel::Refused(
                "its queues count the packet that waits for tokens, whose length differs; it does limits of packets"
                    .to_owned(),
            ),
        }
    }
}
