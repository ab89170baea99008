//! A link with room for everything, and the way behind it: what is at a host's side of a bottleneck.

use quiclab_units::{Duration, Time};

use crate::{
    clock::{ExactTime, PositiveRate},
    fifo::Fifo,
    packet::Packet,
    stage::{Backlog, Out, Stage},
};

/// Does what [`crate::link::Link`] does with a queue without a limit and [`crate::delay::Delay`] behind it. Nothing can be dropped, so when a packet arrives
/// is known when it comes, which is half the work.
#[derive(Debug)]
pub struct Wire<P> {
    rate: PositiveRate,
    delay: Duration,
    /// When the last packet's last bit leaves the link.
    end: ExactTime,
    travelling: Fifo<P>,
}

impl<P> Wire<P> {
    /// Of this rate and this length.
    pub fn new(rate: PositiveRate, delay: Duration) -> Self {
        Self { rate, delay, end: ExactTime::default(), travelling: Fifo::default() }
    }
}

impl<P> Stage<P> for Wire<P> {
    fn name(&self) -> &'static str {
        "wire"
    }

    fn handle_packet(&mut self, now: Time, packet: Packet<P>, _out: &mut Out<P>) {
        self.end = self.end.or_later(now).after(u64::from(packet.bytes), self.rate);
        let arrives = Time::from_nanos(self.end.floor().as_nanos().saturating_add(self.delay.as_nanos()));
        self.travelling.push(arrives, packet);
    }

    fn next_time(&self) -> Option<Time> {
        self.travelling.next_time()
    }

    fn handle_timeout(&mut self, now: Time, out: &mut Out<P>) {
        self.travelling.pass_due(now, out);
    }

    fn least_delay(&self) -> Duration {
        self.delay
    }

    fn backlog(&self) -> Backlog {
        self.travelling.backlog()
    }
}
