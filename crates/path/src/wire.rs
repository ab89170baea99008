//! A link with room for everything, and the way behind it: what is at a host's side of a bottleneck.

use quiclab_units::{Duration, Time};

use crate::{
    clock::{ExactTime, PositiveRate},
    fifo::Fifo,
    packet::Packet,
};

/// When what one link sends has left it: one packet after the other, with room for all that wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct Transmitter {
    /// When the last packet's last bit leaves the link.
    end: ExactTime,
}

impl Transmitter {
    /// Sends so many bytes at `rate` behind what came before; gives when the last bit leaves.
    pub fn send(&mut self, now: Time, bytes: u32, rate: PositiveRate) -> Time {
        self.end = self.end.or_later(now).after(u64::from(bytes), rate);
        self.end.floor()
    }
}

/// Does what a [`crate::pipeline::Pipeline`] of a [`crate::link::Link`] with a queue without a limit and a [`crate::delay::Delay`] does. Nothing can be dropped, so when
/// a packet arrives is known when it comes.
#[derive(Debug)]
pub struct Wire<P> {
    rate: PositiveRate,
    delay: Duration,
    transmitter: Transmitter,
    travelling: Fifo<P>,
    entered: u64,
}

impl<P> Wire<P> {
    /// Makes a wire of this rate and this length.
    pub fn new(rate: PositiveRate, delay: Duration) -> Self {
        Self { rate, delay, transmitter: Transmitter::default(), travelling: Fifo::default(), entered: 0 }
    }

    /// Takes in a packet, as [`crate::pipeline::Pipeline::handle_packet`] does.
    pub fn handle_packet(&mut self, now: Time, mut packet: Packet<P>) {
        self.entered += 1;
        packet.number = self.entered;
        let left = self.transmitter.send(now, packet.bytes, self.rate);
        let arrives = Time::from_nanos(left.as_nanos().saturating_add(self.delay.as_nanos()));
        self.travelling.push(arrives, packet);
    }

    /// When a packet arrives next, as [`crate::pipeline::Pipeline::next_time`] says it.
    pub fn next_time(&self) -> Option<Time> {
        self.travelling.next_time()
    }

    /// The next packet that has arrived by `now`, and when that was, as [`crate::pipeline::Pipeline::poll_packet`] gives it.
    pub fn poll_packet(&mut self, now: Time) -> Option<(Time, Packet<P>)> {
        if self.next_time()? <= now { self.travelling.pop() } else { None }
    }
}
