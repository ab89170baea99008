//! A link with room for everything, and the way behind it: what is at a host's side of a bottleneck.

use quiclab_units::{Duration, Time};

use crate::{
    clock::{ExactTime, PositiveRate},
    fifo::Fifo,
    packet::Packet,
    pipeline::Account,
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

/// A pipeline of nothing but a wire: what comes in goes out, so that all its bookkeeping is a count. Thousands of hosts have two each, which lie
/// side by side in memory.
#[derive(Debug)]
pub struct LoneWire<P> {
    wire: Wire<P>,
    entered: u64,
}

impl<P> LoneWire<P> {
    /// Of this wire.
    pub fn new(wire: Wire<P>) -> Self {
        Self { wire, entered: 0 }
    }

    /// As [`crate::pipeline::Pipeline::handle_packet`].
    pub fn handle_packet(&mut self, now: Time, mut packet: Packet<P>) {
        self.entered += 1;
        packet.number = self.entered;
        self.wire.take(now, packet);
    }

    /// As [`crate::pipeline::Pipeline::next_time`].
    pub fn next_time(&self) -> Option<Time> {
        self.wire.travelling.next_time()
    }

    /// As [`crate::pipeline::Pipeline::poll_packet`].
    pub fn poll_packet(&mut self, now: Time) -> Option<(Time, Packet<P>)> {
        if self.next_time()? <= now { self.wire.travelling.pop() } else { None }
    }

    /// Its name as a stage, and its account.
    pub fn account(&self) -> (&'static str, Account) {
        let waiting = self.wire.travelling.backlog();
        let left = self.entered - waiting.packets;
        (NAME, Account { entered: self.entered, left, waiting, ..Account::default() })
    }
}

const NAME: &str = "wire";

impl<P> Wire<P> {
    fn take(&mut self, now: Time, packet: Packet<P>) {
        self.end = self.end.or_later(now).after(u64::from(packet.bytes), self.rate);
        let arrives = Time::from_nanos(self.end.floor().as_nanos().saturating_add(self.delay.as_nanos()));
        self.travelling.push(arrives, packet);
    }
}

impl<P> Stage<P> for Wire<P> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn handle_packet(&mut self, now: Time, packet: Packet<P>, _out: &mut Out<P>) {
        self.take(now, packet);
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
