//! What stands at the end of a route.

use quiclab_path::packet::Ecn;
use quiclab_units::Time;

use crate::segment::Segment;

/// A host's transport. Time only ever grows from call to call.
pub trait Endpoint {
    /// Takes in what has arrived.
    fn handle_segment(&mut self, now: Time, segment: Segment, outbox: &mut Outbox);

    /// Does what is due. It may be called before the time of [`Endpoint::next_timeout`], when that was earlier once.
    fn handle_timeout(&mut self, now: Time, outbox: &mut Outbox);

    /// When [`Endpoint::handle_timeout`] is to be called; `None` where nothing is going to happen by itself.
    fn next_timeout(&self) -> Option<Time>;
}

/// What an endpoint wants to send.
#[derive(Debug, Default)]
pub struct Outbox {
    pub(crate) packets: Vec<(u32, Ecn, Segment)>,
}

impl Outbox {
    /// Sends `segment` in a packet of so many bytes.
    pub fn send(&mut self, bytes: u32, ecn: Ecn, segment: Segment) {
        self.packets.push((bytes, ecn, segment));
    }
}
