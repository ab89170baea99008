//! Queue disciplines: which packet waits, which leaves next, which is dropped or marked.

pub mod codel;
pub mod drop_head;
pub mod drop_tail;
pub mod fq_codel;
pub mod limit;
pub mod lossy;
pub mod netem;
pub mod pie;
pub mod red;

pub use limit::Limit;
use quiclab_units::Time;

use crate::{
    packet::Packet,
    stage::{Backlog, Fates},
};

/// What decides about the packets that wait for a link.
pub trait QueueDiscipline<P> {
    /// Takes in a packet, or drops it, or another.
    fn enqueue(&mut self, now: Time, packet: Packet<P>, fates: &mut Fates<P>);

    /// The packet that leaves next, and when it came; `None` where nothing waits, or nothing is ready yet.
    fn dequeue(&mut self, now: Time, fates: &mut Fates<P>) -> Option<(Time, Packet<P>)>;

    /// What waits.
    fn backlog(&self) -> Backlog;

    /// Says whether a token bucket holds the packet it took last until there are tokens for it. The packet is no longer in the
    /// backlog; it matters only to a discipline whose limit counts it.
    fn set_held_by_bucket(&mut self, _is_held: bool) {}

    /// When the next packet may leave; `None` where nothing waits.
    fn ready_time(&self) -> Option<Time> {
        (self.backlog().packets > 0).then_some(Time::from_nanos(0))
    }
}

impl<P> QueueDiscipline<P> for Box<dyn QueueDiscipline<P>> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>, fates: &mut Fates<P>) {
        (**self).enqueue(now, packet, fates);
    }

    fn dequeue(&mut self, now: Time, fates: &mut Fates<P>) -> Option<(Time, Packet<P>)> {
        (**self).dequeue(now, fates)
    }

    fn backlog(&self) -> Backlog {
        (**self).backlog()
    }

    fn set_held_by_bucket(&mut self, is_held: bool) {
        (**self).set_held_by_bucket(is_held);
    }

    fn ready_time(&self) -> Option<Time> {
        (**self).ready_time()
    }
}
