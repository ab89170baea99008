//! How late packets left: counts in ranges whose width is 1/32 of their value, so that memory does not grow with a run.

use quiclab_agent_protocol::forwarder::Lateness;

/// Ranges in each doubling.
const STEPS: u64 = 32;
/// Up to this value each has a range of its own.
const EXACT: u64 = 2 * STEPS;

/// Counts of times.
#[derive(Debug, Default)]
pub struct Latenesses {
    counts: Vec<u64>,
    packets: u64,
    largest_ns: u64,
}

impl Latenesses {
    /// One packet more.
    pub fn add(&mut self, late_ns: u64) {
        let range = range_of(late_ns);
        if self.counts.len() <= range {
            self.counts.resize(range + 1, 0);
        }
        self.counts[range] += 1;
        self.packets += 1;
        self.largest_ns = self.largest_ns.max(late_ns);
    }

    /// Median, 99th percentile and largest; `None` without packets.
    pub fn summary(&self) -> Option<Lateness> {
        (self.packets > 0).then(|| Lateness {
            packets: self.packets,
            median_ns: self.at_most(self.packets.div_ceil(2)),
            percentile_99_ns: self.at_most(self.packets - self.packets / 100),
            largest_ns: self.largest_ns,
        })
    }

    /// The end of the range in which the `rank`-th value is, from 1.
    fn at_most(&self, rank: u64) -> u64 {
        let mut seen = 0;
        for (range, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return last_of(range).min(self.largest_ns);
            }
        }
        self.largest_ns
    }
}

fn range_of(value: u64) -> usize {
    if value < EXACT {
        return value as usize;
    }
    let doublings = u64::from((value / EXACT).ilog2()) + 1;
    (doublings * STEPS + (value >> doublings)) as usize
}

/// The largest value of a range.
fn last_of(range: usize) -> u64 {
    let range = range as u64;
    if range < EXACT {
        return range;
    }
    let doublings = range / STEPS - 1;
    let first = range - doublings * STEPS;
    ((first + 1) << doublings) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_each_other_and_are_a_thirty_second_wide() {
        let mut before = 0;
        for range in 1..40 * STEPS as usize {
            let last = last_of(range);
            assert_eq!((range_of(before + 1), range_of(last)), (range, range), "{range}");
            assert!((last - before - 1) * STEPS <= before + 1, "{range}: {before} to {last}");
            before = last;
        }
    }

    #[test]
    fn percentiles_are_those_of_what_was_added() {
        let mut latenesses = Latenesses::default();
        assert_eq!(latenesses.summary(), None);
        (1..=100).rev().for_each(|value| latenesses.add(value * 1000));
        let Lateness { packets, median_ns, percentile_99_ns, largest_ns } = latenesses.summary().unwrap();
        assert_eq!((packets, largest_ns), (100, 100_000));
        assert!((50_000..=51_600).contains(&median_ns), "{median_ns}");
        assert!((99_000..=100_000).contains(&percentile_99_ns), "{percentile_99_ns}");
    }
}
