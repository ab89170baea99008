//! What Linux's netem is below a token bucket: a delay line and a queue that share one limit.

use quiclab_units::{Duration, Time};

use super::QueueDiscipline;
use crate::{
    content::Payload,
    fifo::Fifo,
    packet::Packet,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{Backlog, DropCause, Fates, Out, Stage},
};

/// Every packet waits at least the delay; packets that wait, for whichever reason, count towards the limit (`net/sched/sch_netem.c`).
#[derive(Debug)]
pub struct Netem<P> {
    delay: Duration,
    limit_packets: u64,
    waiting: Fifo<P>,
    /// The kernel's token bucket peeks at the next packet, and netem keeps counting a packet that was peeked at.
    is_held_by_bucket: bool,
}

impl<P> Netem<P> {
    /// Delays by `delay` and holds `limit_packets` packets.
    pub fn new(delay: Duration, limit_packets: u64) -> Self {
        Self { delay, limit_packets, waiting: Fifo::default(), is_held_by_bucket: false }
    }
}

impl<P> QueueDiscipline<P> for Netem<P> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>, fates: &mut Fates<P>) {
        if self.waiting.backlog().packets + u64::from(self.is_held_by_bucket) < self.limit_packets {
            self.waiting.push(now, packet);
        } else {
            fates.drop(packet, DropCause::QueueFull);
        }
    }

    fn dequeue(&mut self, now: Time, _fates: &mut Fates<P>) -> Option<(Time, Packet<P>)> {
        if self.ready_time()? > now {
            return None;
        }
        self.waiting.pop()
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }

    fn set_held_by_bucket(&mut self, is_held: bool) {
        self.is_held_by_bucket = is_held;
    }

    fn ready_time(&self) -> Option<Time> {
        self.waiting.next_time().map(|entered| entered + self.delay)
    }
}

/// Netem as a stage by itself is a delay line with a limit.
impl<P> Stage<P> for Netem<P> {
    fn name(&self) -> &'static str {
        "netem"
    }

    fn handle_packet(&mut self, now: Time, packet: Packet<P>, out: &mut Out<P>) {
        self.enqueue(now, packet, &mut out.fates);
        Stage::handle_timeout(self, now, out);
    }

    fn next_time(&self) -> Option<Time> {
        self.ready_time()
    }

    fn handle_timeout(&mut self, now: Time, out: &mut Out<P>) {
        while let Some((_, packet)) = self.dequeue(now, &mut out.fates) {
            out.pass(packet);
        }
    }

    fn least_delay(&self) -> Duration {
        self.delay
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }
}

stage_settings! {
    /// What Linux's netem is: a delay line and a queue that share one limit. With a rate right behind it, packets that have waited for
    /// their delay wait on for the rate, and the one that waits for tokens still counts; without, it is a delay line with room for so
    /// many packets.
    NetemSettings: "queue", discipline = "netem" {
        /// what each packet waits at least
        delay: Duration,
        /// most packets in it; one more is dropped
        limit_packets: u32,
    }
}

impl StageKind for NetemSettings {
    fn part<P: Payload>(&self, _random: Random) -> Result<Part<P>, String> {
        Ok(Part::DelayLine(Netem::new(self.delay, u64::from(self.limit_packets))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::DelayLine { delay: self.delay, limit_packets: self.limit_packets }
    }

    fn longest_delay(&self) -> Duration {
        self.delay
    }
}
