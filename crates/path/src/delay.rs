//! Propagation: the same time for every packet.

use quiclab_units::{Duration, Time};

use crate::{
    content::Payload,
    fifo::Fifo,
    packet::Packet,
    random::Random,
    spec::{declare::stage_settings, kernel::Kernel, kind::StageKind, part::Part},
    stage::{Backlog, Out, Stage},
};

/// Every packet leaves a constant time after it came.
#[derive(Debug)]
pub struct Delay<P> {
    delay: Duration,
    travelling: Fifo<P>,
}

impl<P> Delay<P> {
    /// Makes a delay of this length, which may be 0.
    pub fn new(delay: Duration) -> Self {
        Self { delay, travelling: Fifo::default() }
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
        self.travelling.push(now + self.delay, packet);
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

stage_settings! {
    /// Delays every packet by the same time. It has room for any number of packets.
    DelaySettings: "delay" {
        /// how long
        delay: Duration,
    }
}

impl StageKind for DelaySettings {
    fn part<P: Payload>(&self, _random: Random) -> Result<Part<P>, String> {
        Ok(Part::Stage(Box::new(Delay::new(self.delay))))
    }

    fn kernel(&self) -> Kernel {
        Kernel::Delay(self.delay)
    }

    fn longest_delay(&self) -> Duration {
        self.delay
    }
}
