//! Segments that have arrived out of order: a few ranges, in order.

/// Ranges that neither overlap nor touch; begin included, end not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    /// Adds `begin..end` and tells the pieces of it that were missing. Gives the range that now holds it.
    pub(crate) fn insert(&mut self, begin: u64, end: u64, mut missing: impl FnMut(u64, u64)) -> (u64, u64) {
        let first = self.ranges.partition_point(|range| range.1 < begin);
        let (mut last, mut reached, mut whole) = (first, begin, (begin, end));
        while let Some(range) = self.ranges.get(last).filter(|range| range.0 <= end) {
            if reached < range.0 {
                missing(reached, range.0);
            }
            reached = reached.max(range.1);
            whole = (whole.0.min(range.0), whole.1.max(range.1));
            last += 1;
        }
        if reached < end {
            missing(reached, end);
        }
        if last == first + 1 {
            self.ranges[first] = whole;
        } else {
            self.ranges.splice(first..last, [whole]);
        }
        whole
    }

    /// Takes away all below `bound`, which lies in no range but at an end of one.
    pub(crate) fn remove_below(&mut self, bound: u64) {
        let count = self.ranges.partition_point(|range| range.1 <= bound);
        self.ranges.drain(..count);
    }

    pub(crate) fn first(&self) -> Option<(u64, u64)> {
        self.ranges.first().copied()
    }

    /// The range that begins there.
    pub(crate) fn beginning_at(&self, begin: u64) -> Option<(u64, u64)> {
        let place = self.ranges.binary_search_by_key(&begin, |range| range.0).ok()?;
        Some(self.ranges[place])
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::Ranges;

    proptest! {
        #[test]
        fn ranges_are_a_set_of_numbers(pieces in prop::collection::vec((0_u64..60, 1_u64..12), 0..40)) {
            let mut ranges = Ranges::default();
            let mut numbers = BTreeSet::new();
            for (begin, length) in pieces {
                let end = begin + length;
                let new: Vec<u64> = (begin..end).filter(|number| numbers.insert(*number)).collect();
                let mut told = Vec::new();
                let whole = ranges.insert(begin, end, |from, to| told.extend(from..to));
                prop_assert_eq!(told, new);
                prop_assert!(whole.0 <= begin && end <= whole.1 && ranges.beginning_at(whole.0) == Some(whole));
                let all: Vec<u64> = ranges.ranges.iter().flat_map(|range| range.0..range.1).collect();
                prop_assert_eq!(all, numbers.iter().copied().collect::<Vec<_>>());
                prop_assert!(ranges.ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
        }
    }
}
