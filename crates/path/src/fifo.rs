//! First in, first out.

use std::collections::VecDeque;

use quiclab_units::Time;

use crate::{
    packet::Packet,
    stage::{Backlog, Out},
};

/// Packets in the order in which they came, each with a time: when it came, or when it leaves, which is never before the one in front.
#[derive(Debug)]
pub(crate) struct Fifo<P> {
    packets: VecDeque<(Time, Packet<P>)>,
    backlog: Backlog,
}

impl<P> Default for Fifo<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), backlog: Backlog::default() }
    }
}

impl<P> Fifo<P> {
    pub(crate) fn push(&mut self, time: Time, packet: Packet<P>) {
        self.backlog.add(packet.bytes);
        self.packets.push_back((time, packet));
    }

    pub(crate) fn pop(&mut self) -> Option<(Time, Packet<P>)> {
        let (time, packet) = self.packets.pop_front()?;
        self.backlog.remove(packet.bytes);
        Some((time, packet))
    }

    pub(crate) fn front(&self) -> Option<&(Time, Packet<P>)> {
        self.packets.front()
    }

    pub(crate) fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// The time of the first.
    pub(crate) fn next_time(&self) -> Option<Time> {
        self.front().map(|(time, _)| *time)
    }

    /// Lets the packets leave whose time has come.
    pub(crate) fn pass_due(&mut self, now: Time, out: &mut Out<P>) {
        while self.next_time().is_some_and(|time| time <= now) {
            let Some((_, packet)) = self.pop() else { return };
            out.pass(packet);
        }
    }
}
