//! What is to happen later, in the order of time.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

/// A queue of events. Those of the same time come out in the order in which they went in.
#[derive(Debug)]
pub(crate) struct Timers<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    sequence: u64,
}

#[derive(Debug)]
struct Entry<T> {
    due: u64,
    sequence: u64,
    event: T,
}

impl<T> Timers<T> {
    pub(crate) fn new() -> Self {
        Self { heap: BinaryHeap::new(), sequence: 0 }
    }

    /// Puts an event in, `due` on the monotonic clock.
    pub(crate) fn insert(&mut self, due: u64, event: T) {
        self.sequence += 1;
        self.heap.push(Reverse(Entry { due, sequence: self.sequence, event }));
    }

    /// When the next event is due.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(entry)| entry.due)
    }

    /// Takes the next event out, if it is due, and when it was.
    pub(crate) fn take_due(&mut self, now: u64) -> Option<(u64, T)> {
        if self.next_due()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| (entry.due, entry.event))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.sequence).cmp(&(other.due, other.sequence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_by_time_and_then_by_order() {
        let mut timers = Timers::new();
        for (due, event) in [(5, 'c'), (3, 'a'), (5, 'd'), (4, 'b')] {
            timers.insert(due, event);
        }
        assert_eq!(timers.take_due(2), None);
        assert_eq!(timers.next_due(), Some(3));
        let taken: Vec<_> = std::iter::from_fn(|| timers.take_due(5)).collect();
        assert_eq!(taken, [(3, 'a'), (4, 'b'), (5, 'c'), (5, 'd')]);
        assert_eq!(timers.next_due(), None);
    }
}
