//! Packets on their way from the sender's tap to the one behind the bottleneck.

use std::collections::{BTreeMap, VecDeque};

use quiclab_units::Time;

use super::{TIMELINE_POINTS, Timeline};
use crate::payload_key::PayloadKey;
use crate::series::Series;

/// Drops that are kept; more are counted.
pub const MOST_DROPS: usize = 20_000;

/// Packets remembered until they are seen behind the bottleneck: some 100 MB. Dropped ones stay.
const MOST_UNDER_WAY: usize = 1 << 20;

/// Packets that were sent and not yet seen behind the bottleneck.
pub(super) struct Crossings {
    /// Send times, ascending: several where a TCP segment was sent again.
    under_way: BTreeMap<PayloadKey, VecDeque<u64>>,
    delays: Series,
    smallest_ns: Option<u64>,
    /// Send time of the packet sent last among those that arrived.
    latest_arrived_ns: u64,
    drops: Vec<u64>,
    more_drops: u64,
    /// Whether more packets were under way than are remembered: what became of them is not known.
    is_too_much: bool,
}

impl Default for Crossings {
    fn default() -> Self {
        let mut delays = Series::default();
        delays.want(TIMELINE_POINTS);
        delays.begin(Time::from_nanos(0));
        Crossings {
            under_way: BTreeMap::new(),
            delays,
            smallest_ns: None,
            latest_arrived_ns: 0,
            drops: Vec::new(),
            more_drops: 0,
            is_too_much: false,
        }
    }
}

impl Crossings {
    pub(super) fn on_sent(&mut self, key: PayloadKey, time_ns: u64) {
        if self.under_way.len() >= MOST_UNDER_WAY {
            self.is_too_much = true;
            return;
        }
        self.under_way.entry(key).or_default().push_back(time_ns);
    }

    pub(super) fn on_behind(&mut self, key: PayloadKey, time_ns: u64) {
        let Some(sent) = self.under_way.get_mut(&key) else { return };
        // Of copies, one that later packets overtook was dropped.
        while sent.len() > 1 && sent.front().is_some_and(|first| *first < self.latest_arrived_ns) {
            let Some(dropped) = sent.pop_front() else { break };
            push(&mut self.drops, &mut self.more_drops, dropped);
        }
        let Some(sent_ns) = sent.pop_front() else { return };
        if sent.is_empty() {
            self.under_way.remove(&key);
        }
        self.latest_arrived_ns = self.latest_arrived_ns.max(sent_ns);
        let delay = time_ns.saturating_sub(sent_ns);
        self.smallest_ns = Some(self.smallest_ns.map_or(delay, |smallest| smallest.min(delay)));
        self.delays.add(Time::from_nanos(time_ns), delay);
    }

    pub(super) fn finish(self, timeline: &mut Timeline) {
        let Crossings { under_way, delays, smallest_ns, latest_arrived_ns, mut drops, mut more_drops, is_too_much } =
            self;
        let Some(smallest) = smallest_ns.filter(|_| !is_too_much) else { return };
        // Behind the last one that arrived nobody knows: the capture may end while they are on their way.
        for time in under_way.into_values().flatten().filter(|time| *time < latest_arrived_ns) {
            push(&mut drops, &mut more_drops, time);
        }
        drops.sort_unstable();
        timeline.drops = Some(drops.len() as u64 + more_drops);
        timeline.drops_ns = drops;
        timeline.smallest_crossing_ns = smallest_ns;
        timeline.queue_delay_ns = delays.into_points();
        for point in &mut timeline.queue_delay_ns {
            point.minimum -= smallest;
            point.maximum -= smallest;
            point.last -= smallest;
        }
    }
}

fn push(drops: &mut Vec<u64>, more: &mut u64, time_ns: u64) {
    if drops.len() < MOST_DROPS {
        drops.push(time_ns);
    } else {
        *more += 1;
    }
}
