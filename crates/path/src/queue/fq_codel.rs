//! Flow Queue CoDel (RFC 8290): a queue per flow, each under CoDel, served in turns with new flows first.

use std::collections::VecDeque;

use quiclab_units::{ByteCount, Duration, Time};

use super::{
    QueueDiscipline,
    codel::{CoDelSettings, Controller, KERNELS_CODEL, LARGEST_PACKET, codel_settings},
};
use crate::{
    content::Payload,
    fifo::Fifo,
    packet::Packet,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{Backlog, DropCause, Fates},
};

/// The parameters of RFC 8290, section 5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCoDelSettings {
    /// Number of queues; flows share one by chance. 1024, at least 1.
    pub queues: u32,
    /// Bytes that a queue may send in a turn: 1514, at least 1.
    pub quantum_bytes: u32,
    /// Packets in all queues together: 10240.
    pub limit_packets: u64,
    /// CoDel's settings, the same for every queue.
    pub codel: CoDelSettings,
}

impl Default for FqCoDelSettings {
    fn default() -> Self {
        Self { queues: 1024, quantum_bytes: 1514, limit_packets: 10_240, codel: CoDelSettings::default() }
    }
}

/// Packets that are dropped at once at most where all queues together are full (RFC 8290, section 4.1).
const MOST_DROPPED_AT_ONCE: u64 = 64;

/// All queues.
pub struct FqCoDel<P> {
    settings: FqCoDelSettings,
    /// Changes which flows share a queue.
    perturbation: u64,
    queues: Vec<Queue<P>>,
    /// Numbers of queues that have had no turn yet.
    new: VecDeque<usize>,
    /// Numbers of the others that may have packets.
    old: VecDeque<usize>,
    backlog: Backlog,
}

struct Queue<P> {
    waiting: Fifo<P>,
    controller: Controller,
    /// Bytes it may still send in this turn.
    credit: i64,
    is_listed: bool,
}

impl<P> FqCoDel<P> {
    /// `perturbation` is a random number.
    ///
    /// # Panics
    /// Where there are no queues, or the quantum is 0.
    pub fn new(settings: FqCoDelSettings, perturbation: u64) -> Self {
        assert!(settings.queues > 0 && settings.quantum_bytes > 0, "{settings:?}");
        let queue =
            |_| Queue { waiting: Fifo::default(), controller: Controller::default(), credit: 0, is_listed: false };
        Self {
            settings,
            perturbation,
            queues: (0..settings.queues).map(queue).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            backlog: Backlog::default(),
        }
    }

    fn queue_of(&self, flow: u64) -> usize {
        // The finisher of SplitMix64: every bit of the flow's number changes half of the bits.
        let mut mixed = flow ^ self.perturbation;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed % u64::from(self.settings.queues)) as usize
    }

    /// Drops half of the longest queue from its head.
    fn make_room(&mut self, fates: &mut Fates<P>) {
        let Some(longest) = self.queues.iter_mut().max_by_key(|queue| queue.waiting.backlog().bytes) else { return };
        let count = (longest.waiting.backlog().packets / 2).clamp(1, MOST_DROPPED_AT_ONCE);
        for _ in 0..count {
            let Some((_, packet)) = longest.waiting.pop() else { return };
            self.backlog.remove(packet.bytes);
            fates.drop(packet, DropCause::QueueFull);
        }
    }
}

impl<P> QueueDiscipline<P> for FqCoDel<P> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>, fates: &mut Fates<P>) {
        let number = self.queue_of(packet.flow);
        let queue = &mut self.queues[number];
        self.backlog.add(packet.bytes);
        queue.waiting.push(now, packet);
        if !queue.is_listed {
            queue.is_listed = true;
            queue.credit = i64::from(self.settings.quantum_bytes);
            self.new.push_back(number);
        }
        if self.backlog.packets > self.settings.limit_packets {
            self.make_room(fates);
        }
    }

    fn dequeue(&mut self, now: Time, fates: &mut Fates<P>) -> Option<(Time, Packet<P>)> {
        loop {
            let is_new = !self.new.is_empty();
            let number = *if is_new { self.new.front() } else { self.old.front() }?;
            let queue = &mut self.queues[number];
            if queue.credit <= 0 {
                queue.credit += i64::from(self.settings.quantum_bytes);
                let list = if is_new { &mut self.new } else { &mut self.old };
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let before = queue.waiting.backlog();
            let next = queue.controller.dequeue(now, &self.settings.codel, &mut queue.waiting, fates);
            let after = queue.waiting.backlog();
            self.backlog.packets -= before.packets - after.packets;
            self.backlog.bytes -= before.bytes - after.bytes;
            if let Some((_, packet)) = &next {
                queue.credit -= i64::from(packet.bytes);
                return next;
            }
            // An empty new queue becomes an old one, so that it cannot come back as a new one at once (section 4.2).
            if is_new {
                self.new.pop_front();
                self.old.push_back(number);
            } else {
                self.old.pop_front();
                queue.is_listed = false;
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

stage_settings! {
    /// Flow Queue CoDel (RFC 8290): a queue per flow, each under CoDel, served in turns with new flows first.
    FqCoDelStageSettings: "queue", discipline = "fq_codel" {
        /// number of queues
        queues: u32 = FqCoDelSettings::default().queues,
        /// bytes that a queue may send in a turn
        quantum: ByteCount = LARGEST_PACKET,
        /// packets in all queues together
        limit_packets: u32 = 10_240,
        /// as of "codel"
        target: Duration = CoDelSettings::default().target,
        /// as of "codel"
        interval: Duration = CoDelSettings::default().interval,
        /// as of "codel"
        largest_packet: ByteCount = LARGEST_PACKET,
    }
}

/// Most queues that can be asked for. More take more memory than they are worth; it is the kernel's limit as well.
const MOST_QUEUES: u32 = 65_536;

impl StageKind for FqCoDelStageSettings {
    fn part<P: Payload>(&self, mut random: Random) -> Result<Part<P>, String> {
        let quantum_bytes =
            u32::try_from(self.quantum.as_bytes()).ok().filter(|quantum| (1..1 << 20).contains(quantum));
        let quantum_bytes =
            quantum_bytes.ok_or_else(|| format!("quantum: found {}, expected 1 B to 1048575 B", self.quantum))?;
        if self.queues > MOST_QUEUES {
            return Err(format!("queues: found {}, expected at most {MOST_QUEUES}", self.queues));
        }
        let settings = FqCoDelSettings {
            queues: self.queues,
            quantum_bytes,
            limit_packets: u64::from(self.limit_packets),
            codel: codel_settings(self.target, self.interval, self.largest_packet)?,
        };
        Ok(Part::Queue(Box::new(FqCoDel::new(settings, random.up_to(u64::MAX)))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Refused(KERNELS_CODEL.to_owned())
    }
}
