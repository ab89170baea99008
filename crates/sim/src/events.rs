//! What is going to happen, in order.

use std::{cmp::Reverse, collections::BinaryHeap};

use quiclab_units::Time;

/// Events by time; those of the same time in the order in which they were asked for.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<(Time, u64, Target)>>,
    pushed: u64,
}

/// Who is to be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// The pipeline of this number has a packet.
    Pipeline(u32),
    /// A timer of the endpoint of this number has come.
    Endpoint(u32),
}

impl EventQueue {
    pub(crate) fn push(&mut self, time: Time, target: Target) {
        self.heap.push(Reverse((time, self.pushed, target)));
        self.pushed += 1;
    }

    pub(crate) fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((time, ..))| *time)
    }

    pub(crate) fn pop(&mut self) -> Option<(Time, Target)> {
        self.heap.pop().map(|Reverse((time, _, target))| (time, target))
    }
}
