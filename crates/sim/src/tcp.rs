//! TCP as RFCs describe it, in segments instead of bytes.

pub mod congestion;
pub mod delivery;
mod duplicates;
mod ecn;
pub mod receiver;
pub mod rtt;
mod scoreboard;
pub mod sender;

use quiclab_path::packet::Ecn;
use quiclab_units::Time;

use crate::{
    endpoint::{Endpoint, Outbox},
    segment::Segment,
    workload::Source,
};
use receiver::Receiver;

/// One end of a connection that carries data in one direction.
#[derive(Debug)]
pub enum Tcp {
    /// The end that sends data, and the application above it.
    Source(Box<Source>),
    /// The end that takes it in.
    Receiver(Receiver),
}

impl Endpoint for Tcp {
    type Payload = Segment;

    fn handle_packet(&mut self, now: Time, ecn: Ecn, segment: Segment, outbox: &mut Outbox<Segment>) {
        match self {
            Self::Source(source) => source.handle_packet(now, ecn, segment, outbox),
            Self::Receiver(receiver) => receiver.handle_packet(now, ecn, segment, outbox),
        }
    }

    fn handle_timeout(&mut self, now: Time, outbox: &mut Outbox<Segment>) {
        match self {
            Self::Source(source) => source.handle_timeout(now, outbox),
            Self::Receiver(receiver) => receiver.handle_timeout(now, outbox),
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        match self {
            Self::Source(source) => source.next_timeout(),
            Self::Receiver(receiver) => receiver.next_timeout(),
        }
    }
}
