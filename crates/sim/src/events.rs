//! What is going to happen, in order.

use std::{cmp::Reverse, collections::BinaryHeap};

use quiclab_units::Time;

/// When something happens: things of the same time happen in the order in which they were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u128); // the time in the upper half: one comparison

impl Moment {
    /// The end of time: nothing is going to happen.
    pub(crate) const NEVER: Self = Self(u128::MAX);

    /// Asked for when `order` others had been.
    pub(crate) fn new(time: Time, order: u64) -> Self {
        Self(u128::from(time.as_nanos()) << 64 | u128::from(order))
    }

    pub(crate) fn time(self) -> Time {
        Time::from_nanos((self.0 >> 64) as u64)
    }
}

/// Timers by their moments.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Moment, u32)>>,
}

impl Timers {
    pub(crate) fn push(&mut self, moment: Moment, number: u32) {
        self.heap.push(Reverse((moment, number)));
    }

    /// The earliest, and its number; [`Moment::NEVER`] where there is none.
    pub(crate) fn next(&self) -> (Moment, u32) {
        self.heap.peek().map_or((Moment::NEVER, 0), |Reverse(next)| *next)
    }

    pub(crate) fn pop(&mut self) {
        self.heap.pop();
    }
}

/// The next moment of each of a few, and the earliest of all: a tournament, in which a change plays again only where it may win.
#[derive(Debug)]
pub(crate) struct Agenda {
    /// Nodes of a full binary tree from 1 on, the children of k at 2k and 2k + 1; the second half are the leaves.
    nodes: Vec<(Moment, u32)>,
    count: u32,
}

impl Default for Agenda {
    fn default() -> Self {
        Self { nodes: vec![(Moment::NEVER, 0); 2], count: 0 }
    }
}

impl Agenda {
    /// Adds one for which nothing is going to happen yet; gives its number.
    pub(crate) fn add(&mut self) -> u32 {
        let leaves = self.nodes.len() / 2;
        if self.count as usize == leaves {
            let mut nodes = vec![(Moment::NEVER, 0); 4 * leaves];
            nodes[2 * leaves..3 * leaves].copy_from_slice(&self.nodes[leaves..]);
            for node in (1..2 * leaves).rev() {
                nodes[node] = nodes[2 * node].min(nodes[2 * node + 1]);
            }
            self.nodes = nodes;
        }
        self.count += 1;
        self.count - 1
    }

    /// When something happens to the one of this number; [`Moment::NEVER`] where nothing does.
    pub(crate) fn moment(&self, number: u32) -> Moment {
        self.nodes[self.nodes.len() / 2 + number as usize].0
    }

    /// Something happens to the one of this number at this moment and not before.
    pub(crate) fn set(&mut self, number: u32, moment: Moment) {
        let mut node = self.nodes.len() / 2 + number as usize;
        self.nodes[node] = (moment, number);
        while node > 1 {
            let (one, other) = (self.nodes[node], self.nodes[node ^ 1]);
            let winner = if one.0 <= other.0 { one } else { other };
            node /= 2;
            if self.nodes[node] == winner {
                return;
            }
            self.nodes[node] = winner;
        }
    }

    /// The earliest of all, and its number; [`Moment::NEVER`] where nothing happens.
    pub(crate) fn next(&self) -> (Moment, u32) {
        self.nodes[1]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_earliest_is_the_least_of_all(changes in prop::collection::vec((0u32..20, prop::option::of(0u64..50)), 1..200)) {
            let mut agenda = Agenda::default();
            let mut plain: Vec<Moment> = Vec::new();
            for (order, (number, time)) in (0..).zip(changes) {
                while plain.len() <= number as usize {
                    prop_assert_eq!(agenda.add() as usize, plain.len());
                    plain.push(Moment::NEVER);
                }
                let moment = time.map_or(Moment::NEVER, |time| Moment::new(Time::from_nanos(time), order));
                agenda.set(number, moment);
                plain[number as usize] = moment;
                let least = plain.iter().copied().min().unwrap_or(Moment::NEVER);
                prop_assert_eq!(agenda.next().0, least);
                prop_assert!(least == Moment::NEVER || plain[agenda.next().1 as usize] == least);
                prop_assert_eq!(agenda.moment(number), moment);
            }
        }
    }
}
