//! Random loss in front of a queue.

use quiclab_units::Time;

use super::QueueDiscipline;
use crate::{
    packet::Packet,
    probability::Probability,
    random::Random,
    stage::{Backlog, DropCause, Fates},
};

/// Loses every packet with the same probability before the queue sees it.
pub struct Lossy<Q> {
    probability: Probability,
    random: Random,
    queue: Q,
}

impl<Q> Lossy<Q> {
    /// Makes a stage of random loss in front of `queue`.
    pub fn new(probability: Probability, random: Random, queue: Q) -> Self {
        Self { probability, random, queue }
    }
}

impl<P, Q: QueueDiscipline<P>> QueueDiscipline<P> for Lossy<Q> {
    fn enqueue(&mut self, now: Time, packet: Packet<P>, fates: &mut Fates<P>) {
        if self.random.unit() < self.probability.get() {
            fates.drop(packet, DropCause::RandomLoss);
        } else {
            self.queue.enqueue(now, packet, fates);
        }
    }

    fn dequeue(&mut self, now: Time, fates: &mut Fates<P>) -> Option<(Time, Packet<P>)> {
        self.queue.dequeue(now, fates)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn set_held_by_bucket(&mut self, is_held: bool) {
        self.queue.set_held_by_bucket(is_held);
    }

    fn ready_time(&self) -> Option<Time> {
        self.queue.ready_time()
    }
}
