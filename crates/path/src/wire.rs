//! A link with room for everything, and the way behind it: what is at a host's side of a bottleneck.

use quiclab_units::{Duration, Time};

use crate::{
    clock::{ExactTime, PositiveRate},
    fifo::Fifo,
    packet::Packet,
    pipeline::Account,
};

/// Does what a [`crate::pipeline::Pipeline`] of a [`crate::link::Link`] with a queue without a limit and a [`crate::delay::Delay`] does. Nothing can be dropped, so when
/// a packet arrives is known when it comes, and all the bookkeeping is a count. Thousands of hosts have two each, which lie side by side in memory.
#[derive(Debug)]
pub struct Wire<P> {
    rate: PositiveRate,
    delay: Duration,
    /// When the last packet's last bit leaves the link.
    end: ExactTime,
    travelling: Fifo<P>,
    entered: u64,
}

impl<P> Wire<P> {
    /// Of this rate and this length.
    pub fn new(rate: PositiveRate, delay: Duration) -> Self {
        Self { rate, delay, end: ExactTime::default(), travelling: Fifo::default(), entered: 0 }
    }

    /// As [`crate::pipeline::Pipeline::handle_packet`].
    pub fn handle_packet(&mut self, now: Time, mut packet: Packet<P>) {
        self.entered += 1;
        packet.number = self.entered;
        self.end = self.end.or_later(now).after(u64::from(packet.bytes), self.rate);
        let arrives = Time::from_nanos(self.end.floor().as_nanos().saturating_add(self.delay.as_nanos()));
        self.travelling.push(arrives, packet);
    }

    /// As [`crate::pipeline::Pipeline::next_time`].
    pub fn next_time(&self) -> Option<Time> {
        self.travelling.next_time()
    }

    /// As [`crate::pipeline::Pipeline::poll_packet`].
    pub fn poll_packet(&mut self, now: Time) -> Option<(Time, Packet<P>)> {
        if self.next_time()? <= now { self.travelling.pop() } else { None }
    }

    /// Its name as a stage, and its account.
    pub fn account(&self) -> (&'static str, Account) {
        let waiting = self.travelling.backlog();
        let left = self.entered - waiting.packets;
        ("wire", Account { entered: self.entered, left, waiting, ..Account::default() })
    }
}
