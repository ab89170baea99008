//! Timers of many handshakes: a hierarchy of wheels. Setting and cancelling take constant time, and a timer is moved once for each
//! level that it passes, however many others there are.

use std::mem;

/// 2^18 ns, a quarter of a millisecond: below the granularity of QUIC's timers (RFC 9002 section 6.1.2).
const TICK_SHIFT: u32 = 18;
const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_MASK: u64 = SLOTS as u64 - 1;
/// Enough for every time that 64 bits hold.
const LEVELS: usize = (u64::BITS - TICK_SHIFT).div_ceil(SLOT_BITS) as usize;
const NONE: u32 = u32::MAX;

/// Names a timer that was set. Once it has fired or was cancelled, it names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerKey {
    index: u32,
    generation: u32,
}

#[derive(Clone, Copy)]
struct Node {
    deadline: u64,
    value: u64,
    next: u32,
    previous: u32,
    generation: u32,
    /// Level and slot where it waits. `None`: it is free.
    place: Option<(u8, u8)>,
}

/// A set of timers, each with a value. Times are nanoseconds since any moment.
pub struct Wheel {
    /// The tick up to which timers have fired.
    now: u64,
    nodes: Vec<Node>,
    free: u32,
    heads: [[u32; SLOTS]; LEVELS],
    /// Bit n of a level: its slot n is not empty.
    occupied: [u64; LEVELS],
    length: usize,
    operations: u64,
}

impl Default for Wheel {
    fn default() -> Self {
        Wheel::new()
    }
}

impl Wheel {
    /// Makes a wheel without timers, at time 0.
    pub fn new() -> Self {
        Wheel {
            now: 0,
            nodes: Vec::new(),
            free: NONE,
            heads: [[NONE; SLOTS]; LEVELS],
            occupied: [0; LEVELS],
            length: 0,
            operations: 0,
        }
    }

    /// Timers that wait.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether no timer waits.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How often a timer was put into a slot, or a slot was looked at: what the wheel's work is made of.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// Sets a timer. It fires at `deadline_ns` or less than one tick later, not before.
    pub fn set(&mut self, deadline_ns: u64, value: u64) -> TimerKey {
        let deadline = deadline_ns.div_ceil(1 << TICK_SHIFT);
        let node = Node { deadline, value, next: NONE, previous: NONE, generation: 0, place: None };
        let index = match self.free {
            NONE => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
            index => {
                let place = &mut self.nodes[index as usize];
                self.free = place.next;
                *place = Node { generation: place.generation, ..node };
                index
            }
        };
        self.length += 1;
        self.place(index);
        TimerKey { index, generation: self.nodes[index as usize].generation }
    }

    /// Forgets a timer. False: it has fired, or was cancelled.
    pub fn cancel(&mut self, key: TimerKey) -> bool {
        let Some(node) = self.nodes.get(key.index as usize).copied() else { return false };
        let Some((level, slot)) = node.place.filter(|_| node.generation == key.generation) else { return false };
        let (level, slot) = (usize::from(level), usize::from(slot));
        match node.previous {
            NONE => self.heads[level][slot] = node.next,
            previous => self.nodes[previous as usize].next = node.next,
        }
        if node.next != NONE {
            self.nodes[node.next as usize].previous = node.previous;
        }
        if self.heads[level][slot] == NONE {
            self.occupied[level] &= !(1 << slot);
        }
        self.release(key.index);
        true
    }

    /// A time before which no timer fires. `None`: there is none.
    pub fn next_ns(&self) -> Option<u64> {
        self.next_tick().map(|tick| tick << TICK_SHIFT)
    }

    /// Puts the values of all timers into `fired` whose time has come, in the order of ticks.
    pub fn advance(&mut self, now_ns: u64, fired: &mut Vec<u64>) {
        let target = (now_ns >> TICK_SHIFT).max(self.now);
        loop {
            self.fire(fired);
            match self.next_tick().filter(|&tick| tick <= target && tick > self.now) {
                Some(tick) => self.move_to(tick),
                None => break,
            }
        }
        self.now = target;
    }

    /// The first tick at which something is to do.
    fn next_tick(&self) -> Option<u64> {
        (0..LEVELS).find_map(|level| {
            let shift = SLOT_BITS * level as u32;
            let position = (self.now >> shift) & SLOT_MASK;
            let ahead = self.occupied[level] >> position << position;
            (ahead != 0).then(|| {
                let slot = u64::from(ahead.trailing_zeros());
                let window = self.now >> shift & !SLOT_MASK;
                ((window | slot) << shift).max(self.now)
            })
        })
    }

    /// Goes to a tick at which a slot of some level begins, and spreads that slot over the levels below.
    fn move_to(&mut self, tick: u64) {
        self.now = tick;
        for level in 1..LEVELS {
            let shift = SLOT_BITS * level as u32;
            if tick & ((1 << shift) - 1) != 0 {
                break;
            }
            let mut index = self.take((tick >> shift & SLOT_MASK) as usize, level);
            while index != NONE {
                let next = self.nodes[index as usize].next;
                self.place(index);
                index = next;
            }
        }
    }

    /// The timers of the present tick.
    fn fire(&mut self, fired: &mut Vec<u64>) {
        let mut index = self.take((self.now & SLOT_MASK) as usize, 0);
        while index != NONE {
            let Node { next, deadline, value, .. } = self.nodes[index as usize];
            debug_assert!(deadline <= self.now, "a slot of the lowest level is one tick");
            fired.push(value);
            self.release(index);
            index = next;
        }
    }

    /// Empties a slot; its timers remain linked.
    fn take(&mut self, slot: usize, level: usize) -> u32 {
        self.operations += 1;
        self.occupied[level] &= !(1 << slot);
        mem::replace(&mut self.heads[level][slot], NONE)
    }

    /// Puts a timer in its slot, by the highest bit in which its tick and the present one differ.
    fn place(&mut self, index: u32) {
        self.operations += 1;
        let tick = self.nodes[index as usize].deadline.max(self.now);
        let level = (63 - (tick ^ self.now | 1).leading_zeros()) / SLOT_BITS;
        let slot = (tick >> (SLOT_BITS * level) & SLOT_MASK) as usize;
        let level = level as usize;
        let head = mem::replace(&mut self.heads[level][slot], index);
        self.occupied[level] |= 1 << slot;
        if head != NONE {
            self.nodes[head as usize].previous = index;
        }
        let node = &mut self.nodes[index as usize];
        node.next = head;
        node.previous = NONE;
        node.place = Some((level as u8, slot as u8));
    }

    fn release(&mut self, index: u32) {
        let node = &mut self.nodes[index as usize];
        node.place = None;
        node.generation = node.generation.wrapping_add(1);
        node.next = mem::replace(&mut self.free, index);
        self.length -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    const TICK: u64 = 1 << TICK_SHIFT;

    #[derive(Clone, Debug)]
    enum Step {
        Set(u64),
        Cancel(usize),
        Advance(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        // Distances of every level.
        let distance = (0u32..60, 0u64..1 << 20).prop_map(|(shift, low)| (1u64 << shift) + low);
        let step = prop_oneof![
            4 => distance.clone().prop_map(Step::Set),
            1 => any::<usize>().prop_map(Step::Cancel),
            2 => distance.prop_map(Step::Advance),
        ];
        prop::collection::vec(step, 1..200)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn it_fires_what_an_ordered_map_fires(steps in steps()) {
            let mut wheel = Wheel::new();
            let mut now = 0u64;
            let mut waiting: BTreeMap<(u64, u64), TimerKey> = BTreeMap::new();
            let mut keys = Vec::new();
            for (value, step) in (0u64..).zip(steps) {
                match step {
                    Step::Set(distance) => {
                        let deadline = now.saturating_add(distance);
                        let key = wheel.set(deadline, value);
                        keys.push(((deadline.div_ceil(TICK), value), key));
                        waiting.insert((deadline.div_ceil(TICK), value), key);
                    }
                    Step::Cancel(which) if !keys.is_empty() => {
                        let (place, key) = keys[which % keys.len()];
                        prop_assert_eq!(wheel.cancel(key), waiting.remove(&place).is_some());
                    }
                    Step::Cancel(_) => {}
                    Step::Advance(distance) => {
                        now = now.saturating_add(distance).min(1 << 62);
                        let mut fired = Vec::new();
                        wheel.advance(now, &mut fired);
                        let later = waiting.split_off(&(now / TICK + 1, 0));
                        let expected: BTreeSet<u64> = waiting.keys().map(|&(_, value)| value).collect();
                        waiting = later;
                        prop_assert_eq!(fired.len(), expected.len());
                        prop_assert_eq!(fired.into_iter().collect::<BTreeSet<_>>(), expected);
                    }
                }
                prop_assert_eq!(wheel.len(), waiting.len());
                match (wheel.next_ns(), waiting.keys().next()) {
                    (None, None) => {}
                    (Some(next), Some(&(tick, _))) => prop_assert!(next <= tick.saturating_mul(TICK).max(now)),
                    other => prop_assert!(false, "{:?}", other),
                }
            }
        }
    }

    #[test]
    fn a_timer_does_not_fire_early_and_at_most_one_tick_late() {
        for deadline in [0, 1, TICK - 1, TICK, TICK + 1, 63 * TICK, 64 * TICK, 4096 * TICK + 5, (1 << 54) + 3] {
            let mut wheel = Wheel::new();
            wheel.set(deadline, 7);
            let mut fired = Vec::new();
            if deadline > 0 {
                wheel.advance(deadline - 1, &mut fired);
                assert!(fired.is_empty(), "{deadline}");
            }
            wheel.advance(deadline + TICK - 1, &mut fired);
            assert_eq!(fired, [7], "{deadline}");
        }
    }

    /// A scan of a million targets at 10,000 a second: 95 % are silent, so that two probes and the timeout fire, the others cancel.
    #[test]
    fn a_million_silent_targets_cost_as_much_at_the_end_as_at_the_start() {
        const TARGETS: u64 = 1_000_000;
        const SPACING_NS: u64 = 100_000;
        let mut wheel = Wheel::new();
        let (mut fired, mut timeouts) = (Vec::new(), 0);
        let mut parts = Vec::new();
        let mut before = 0;
        for target in 0..TARGETS {
            let now = target * SPACING_NS;
            let key = wheel.set(now + 999_000_000, target << 2);
            if target % 20 == 0 {
                wheel.cancel(key);
            }
            wheel.advance(now, &mut fired);
            for value in fired.drain(..) {
                match value & 3 {
                    0 => _ = wheel.set(now + 1_998_000_000, value + 1),
                    1 => _ = wheel.set(now + 3_000, value + 1),
                    _ => timeouts += 1,
                }
            }
            if (target + 1) % (TARGETS / 10) == 0 {
                parts.push(wheel.operations() - before);
                before = wheel.operations();
            }
        }
        // 3 s x 10,000/s are in flight at the end.
        assert!(timeouts > TARGETS * 95 / 100 - 30_100, "{timeouts}");
        // Three timers for each target, each of which passes a level or two, and a slot every tick.
        let most = TARGETS / 10 * 12;
        assert!(parts.iter().all(|&operations| operations < most), "{parts:?}");
        let (first, last) = (parts[2] as f64, parts[9] as f64);
        assert!(last < first * 1.05, "{parts:?}");
        assert!(wheel.nodes.len() < 31_000, "memory is that of the timers in flight: {}", wheel.nodes.len());
    }
}
