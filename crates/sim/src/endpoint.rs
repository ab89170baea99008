//! What stands at the end of a route.

use quiclab_path::packet::Ecn;
use quiclab_units::Time;

/// A host's transport. Time only ever grows from call to call.
pub trait Endpoint {
    /// What its packets carry.
    type Payload;

    /// Takes in what has arrived, with its mark.
    fn handle_packet(&mut self, now: Time, ecn: Ecn, payload: Self::Payload, outbox: &mut Outbox<Self::Payload>);

    /// Does what is due. It may be called before the time of [`Endpoint::next_timeout`], when that was earlier once.
    fn handle_timeout(&mut self, now: Time, outbox: &mut Outbox<Self::Payload>);

    /// When [`Endpoint::handle_timeout`] is to be called; `None` where nothing is going to happen by itself.
    fn next_timeout(&self) -> Option<Time>;
}

/// What an endpoint wants to send.
#[derive(Debug)]
pub struct Outbox<P> {
    pub(crate) packets: Vec<(u32, Ecn, P)>,
}

impl<P> Default for Outbox<P> {
    fn default() -> Self {
        Self { packets: Vec::new() }
    }
}

impl<P> Outbox<P> {
    /// Sends `payload` in a packet of so many bytes.
    pub fn send(&mut self, bytes: u32, ecn: Ecn, payload: P) {
        self.packets.push((bytes, ecn, payload));
    }
}
