//! A link that sends one packet after the other, each for as long as its bytes take, with a queue in front.

use quiclab_units::Time;

use crate::{
    clock::{ExactTime, PositiveRate},
    packet::Packet,
    queue::QueueDiscipline,
    stage::{Backlog, Out, Stage},
    usage::{Meter, Usage},
};

/// Serialises packets at a constant rate. A packet leaves when its last bit does; the one being sent no longer counts as waiting for
/// the discipline's limit.
pub struct Link<P, Q> {
    rate: PositiveRate,
    queue: Q,
    sending: Option<Packet<P>>,
    /// When the packet that is being sent, or was sent last, ends.
    end: ExactTime,
    meter: Meter,
}

impl<P, Q: QueueDiscipline<P>> Link<P, Q> {
    /// Makes a link that sends at `rate`, behind `queue`.
    pub fn new(rate: PositiveRate, queue: Q) -> Self {
        Self { rate, queue, sending: None, end: ExactTime::default(), meter: Meter::default() }
    }

    fn send_next(&mut self, now: Time, out: &mut Out<P>) {
        if self.sending.is_none()
            && let Some((entered, packet)) = self.queue.dequeue(now, &mut out.fates)
        {
            self.end = self.end.or_later(now).after(u64::from(packet.bytes), self.rate);
            self.sending = Some(packet);
            self.meter.on_started(now, entered);
        }
    }
}

impl<P, Q: QueueDiscipline<P>> Stage<P> for Link<P, Q> {
    fn name(&self) -> &'static str {
        "link"
    }

    fn handle_packet(&mut self, now: Time, packet: Packet<P>, out: &mut Out<P>) {
        self.meter.advance(now);
        let dropped = out.fates.dropped.len();
        self.meter.on_arrived();
        self.queue.enqueue(now, packet, &mut out.fates);
        self.send_next(now, out);
        self.meter.on_dropped(out.fates.dropped.len() - dropped);
    }

    fn next_time(&self) -> Option<Time> {
        match &self.sending {
            Some(_) => Some(self.end.floor()),
            None => self.queue.ready_time().map(|time| time.max(self.end.floor())),
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut Out<P>) {
        self.meter.advance(now);
        let dropped = out.fates.dropped.len();
        if let Some(sent) = self.sending.take() {
            self.meter.on_left();
            out.pass(sent);
        }
        self.send_next(now, out);
        self.meter.on_dropped(out.fates.dropped.len() - dropped);
    }

    fn usage(&self, now: Time) -> Option<Usage> {
        Some(self.meter.usage(now))
    }

    fn backlog(&self) -> Backlog {
        let mut backlog = self.queue.backlog();
        if let Some(packet) = &self.sending {
            backlog.add(packet.bytes);
        }
        backlog
    }
}
