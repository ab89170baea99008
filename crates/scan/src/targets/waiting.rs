//! Entries that wait for their turn.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap, VecDeque},
    net::IpAddr,
};

use quiclab_units::Time;

use crate::targets::pace::{Pace, Start};

/// A bounded queue in which an address that was asked a moment ago holds up nobody else.
///
/// Of one address those leave first that came first. Among addresses that may be asked, the one for which most wait: what is left of
/// a list is then not a single address that takes a second each.
#[derive(Clone, Debug)]
pub struct Waiting<T> {
    by_address: HashMap<IpAddr, Queue<T>>,
    /// Addresses that may be asked, as far as is known.
    ready: BTreeSet<(Reverse<usize>, u64, IpAddr)>,
    /// Addresses that were asked a moment ago.
    blocked: BTreeSet<(Time, IpAddr)>,
    sequence: u64,
    length: usize,
    capacity: usize,
}

/// All that wait for one address.
#[derive(Clone, Debug)]
struct Queue<T> {
    items: VecDeque<T>,
    /// When the first of them came, as a number.
    sequence: u64,
    /// Time until which nobody may be asked.
    blocked: Option<Time>,
}

impl<T> Queue<T> {
    fn rank(&self, address: IpAddr) -> (Reverse<usize>, u64, IpAddr) {
        (Reverse(self.items.len()), self.sequence, address)
    }
}

impl<T> Waiting<T> {
    /// A queue for at most so many.
    pub fn new(capacity: usize) -> Self {
        let (by_address, ready, blocked) = Default::default();
        Self { by_address, ready, blocked, sequence: 0, length: 0, capacity }
    }

    /// Whether no more fit: the list is not read on then.
    pub fn is_full(&self) -> bool {
        self.length >= self.capacity
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds one.
    ///
    /// # Errors
    /// Gives it back when the queue is full.
    pub fn push(&mut self, address: IpAddr, item: T) -> Result<(), T> {
        if self.is_full() {
            return Err(item);
        }
        self.sequence += 1;
        let new = Queue { items: VecDeque::new(), sequence: self.sequence, blocked: None };
        let queue = self.by_address.entry(address).or_insert(new);
        self.ready.remove(&queue.rank(address));
        queue.items.push_back(item);
        if queue.blocked.is_none() {
            self.ready.insert(queue.rank(address));
        }
        self.length += 1;
        Ok(())
    }

    /// One whose turn it is; it counts as started.
    ///
    /// # Errors
    /// When the next turn is; `None` within: nobody waits.
    pub fn poll(&mut self, pace: &mut Pace, now: Time) -> Result<(IpAddr, T), Option<Time>> {
        self.unblock(now);
        while let Some(&rank) = self.ready.first() {
            let (_, _, address) = rank;
            let start = pace.start(address, now);
            if let Start::Rate(at) = start {
                return Err(Some(at));
            }
            self.ready.remove(&rank);
            match start {
                Start::Address(at) => self.block(address, at),
                Start::Rate(_) | Start::Now => {
                    if let Some(item) = self.take(address) {
                        return Ok((address, item));
                    }
                }
            }
        }
        let next = self.blocked.first().map(|(at, _)| *at);
        Err(next.map(|at| pace.next_start().map_or(at, |rate| rate.max(at))))
    }

    fn block(&mut self, address: IpAddr, until: Time) {
        if let Some(queue) = self.by_address.get_mut(&address) {
            queue.blocked = Some(until);
            self.blocked.insert((until, address));
        }
    }

    fn unblock(&mut self, now: Time) {
        while let Some(&(at, address)) = self.blocked.first()
            && at <= now
        {
            self.blocked.pop_first();
            if let Some(queue) = self.by_address.get_mut(&address) {
                queue.blocked = None;
                self.ready.insert(queue.rank(address));
            }
        }
    }

    /// The first of an address that is not among those that are ready. The others of it wait on.
    fn take(&mut self, address: IpAddr) -> Option<T> {
        let queue = self.by_address.get_mut(&address)?;
        let item = queue.items.pop_front();
        if queue.items.is_empty() {
            self.by_address.remove(&address);
        } else {
            self.ready.insert(queue.rank(address));
        }
        self.length -= usize::from(item.is_some());
        item
    }

    /// Takes out all whose address is meant, as when a prefix objects.
    pub fn remove(&mut self, is_meant: impl Fn(IpAddr) -> bool) -> Vec<(IpAddr, T)> {
        let meant: BTreeSet<IpAddr> = self.by_address.keys().copied().filter(|address| is_meant(*address)).collect();
        self.ready.retain(|(_, _, address)| !meant.contains(address));
        self.blocked.retain(|(_, address)| !meant.contains(address));
        let mut removed = Vec::new();
        for address in meant {
            let items = self.by_address.remove(&address).map(|queue| queue.items).unwrap_or_default();
            removed.extend(items.into_iter().map(|item| (address, item)));
        }
        self.length -= removed.len();
        removed
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::targets::Frequency;

    const SECOND: u64 = 1_000_000_000;

    fn address(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
    }

    #[test]
    fn an_address_with_many_names_holds_up_nobody_else() {
        let mut pace = Pace::new(Frequency::per_second(10).unwrap(), 1, Time::from_nanos(0));
        let mut waiting = Waiting::new(100);
        for item in 0..5 {
            waiting.push(address(1), item).unwrap();
        }
        for item in 5..30 {
            waiting.push(address(item), item).unwrap();
        }
        let (mut now, mut left) = (Time::from_nanos(0), Vec::new());
        loop {
            match waiting.poll(&mut pace, now) {
                Ok((_, item)) => left.push((now.as_nanos(), item)),
                Err(Some(at)) => {
                    assert!(at > now, "it does not spin");
                    now = at;
                }
                Err(None) => break,
            }
        }
        assert!(waiting.is_empty() && left.len() == 30);
        let of_first: Vec<_> = left.iter().filter(|(_, item)| *item < 5).collect();
        assert!(of_first.iter().map(|(_, item)| *item).eq(0..5), "in the order in which they came: {of_first:?}");
        assert!(of_first.windows(2).all(|pair| pair[1].0 - pair[0].0 >= SECOND));
        let last_other = left.iter().filter(|(_, item)| *item >= 5).map(|(at, _)| *at).max().unwrap();
        assert!(
            last_other <= 28 * SECOND / 10,
            "25 others and three of the first take {last_other} ns at ten a second"
        );
    }

    #[test]
    fn a_full_queue_gives_back_and_what_is_removed_leaves_room() {
        let mut waiting = Waiting::new(2);
        assert_eq!((waiting.push(address(1), 'a'), waiting.push(address(2), 'b')), (Ok(()), Ok(())));
        assert_eq!(waiting.push(address(3), 'c'), Err('c'));
        assert_eq!(waiting.remove(|other| other == address(1)), [(address(1), 'a')]);
        assert!(waiting.len() == 1 && waiting.push(address(3), 'c').is_ok() && waiting.is_full());
    }
}
