//! Propagation: the same time for every packet.

use std::collections::VecDeque;

use quiclab_units::{Duration, Time};

use crate::{
    packet::Packet,
    stage::{Backlog, Out, Stage},
};

/// Every packet leaves a constant time after it came.
#[derive(Debug)]
pub struct Delay<P> {
    delay: Duration,
    travelling: VecDeque<(Time, Packet<P>)>,
    backlog: Backlog,
}

impl<P> Delay<P> {
    /// Of this length, which may be 0.
    pub fn new(delay: Duration) -> Self {
        Self { delay, travelling: VecDeque::new(), backlog: Backlog::default() }
    }
}

impl<P> Stage<P> for Delay<P> {
    fn name(&self) -> &'static str {
        "delay"
    }

    fn handle_packet(&mut self, now: Time, packet: Packet<P>, out: &mut Out<P>) {
        if self.delay == Duration::ZERO {
            out.pass(packet);
            return;
        }
        self.backlog.add(packet.bytes);
        self.travelling.push_back((now + self.delay, packet));
    }

    fn next_time(&self) -> Option<Time> {
        self.travelling.front().map(|(time, _)| *time)
    }

    fn handle_timeout(&mut self, now: Time, out: &mut Out<P>) {
        while self.travelling.front().is_some_and(|(time, _)| *time <= now) {
            let Some((_, packet)) = self.travelling.pop_front() else { return };
            self.backlog.remove(packet.bytes);
            out.pass(packet);
        }
    }

    fn least_delay(&self) -> Duration {
        self.delay
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
