//! Sets of whole numbers that are mostly contiguous: packet numbers, offsets of streams.

use std::collections::BTreeMap;

/// A set of ranges that neither overlap nor touch.
#[derive(Clone, Debug, Default)]
pub struct RangeSet {
    /// Begin to end (exclusive).
    ranges: BTreeMap<u64, u64>,
    members: u64,
}

impl RangeSet {
    /// Adds `begin..end`; gives how many of them were not in the set.
    pub fn insert(&mut self, begin: u64, end: u64) -> u64 {
        if begin >= end {
            return 0;
        }
        // What nearly always happens: the next one, or an acknowledgment of what was acknowledged and some more.
        if let Some(mut last) = self.ranges.last_entry()
            && (*last.key()..=*last.get()).contains(&begin)
        {
            let added = end.saturating_sub(*last.get());
            *last.get_mut() += added;
            self.members += added;
            return added;
        }
        let (mut merged_begin, mut merged_end) = (begin, end);
        let mut known = 0;
        let before = self.ranges.range(..=begin).next_back().map(|(begin, end)| (*begin, *end));
        if before.is_some_and(|(_, other_end)| other_end >= end) {
            return 0;
        }
        let touching: Vec<(u64, u64)> = before
            .into_iter()
            .filter(|(_, other_end)| *other_end >= begin)
            .chain(
                self.ranges
                    .range(begin + 1..)
                    .take_while(|(other, _)| **other <= end)
                    .map(|(begin, end)| (*begin, *end)),
            )
            .collect();
        for (other_begin, other_end) in touching {
            self.ranges.remove(&other_begin);
            known += other_end.min(end).saturating_sub(other_begin.max(begin));
            merged_begin = merged_begin.min(other_begin);
            merged_end = merged_end.max(other_end);
        }
        self.ranges.insert(merged_begin, merged_end);
        let added = end - begin - known;
        self.members += added;
        added
    }

    /// How many numbers from `begin` on are in this set and not in the other one.
    pub(crate) fn members_not_in(&self, other: &RangeSet, begin: u64) -> u64 {
        let from_begin = |(first, end): (&u64, &u64)| (begin.max(*first), *end);
        let ranges = self.ranges.iter().map(from_begin).filter(|(first, end)| first < end);
        ranges
            .map(|(first, end)| (end - first).saturating_sub(other.members_between(first, end)))
            .fold(0, u64::saturating_add)
    }

    fn members_between(&self, begin: u64, end: u64) -> u64 {
        let before = self.ranges.range(..begin).next_back().into_iter();
        let inside = before.chain(self.ranges.range(begin..end));
        inside.map(|(first, last)| end.min(*last).saturating_sub(begin.max(*first))).sum()
    }

    /// The smallest member.
    pub(crate) fn first(&self) -> Option<u64> {
        self.ranges.first_key_value().map(|(begin, _)| *begin)
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        self.ranges.range(..=number).next_back().is_some_and(|(_, end)| number < *end)
    }

    pub(crate) fn members(&self) -> u64 {
        self.members
    }

    /// Number of values from the smallest to the largest member, both included.
    pub(crate) fn span(&self) -> u64 {
        match (self.ranges.first_key_value(), self.ranges.last_key_value()) {
            (Some((begin, _)), Some((_, end))) => end - begin,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::RangeSet;

    proptest! {
        #[test]
        fn the_difference_of_two_sets_is_that_of_their_numbers(
            one in prop::collection::vec((0_u64..60, 0_u64..12), 0..20),
            other in prop::collection::vec((0_u64..60, 0_u64..12), 0..20),
            begin in 0_u64..60,
        ) {
            let both = [one, other].map(|pieces| {
                let mut ranges = RangeSet::default();
                pieces.iter().for_each(|(first, length)| { ranges.insert(*first, first + length); });
                let numbers: BTreeSet<u64> = pieces.iter().flat_map(|(first, length)| *first..first + length).collect();
                (ranges, numbers)
            });
            let [(one, one_numbers), (other, other_numbers)] = both;
            let expected = one_numbers.difference(&other_numbers).filter(|number| **number >= begin).count() as u64;
            prop_assert_eq!(one.members_not_in(&other, begin), expected);
        }

        #[test]
        fn a_set_of_ranges_counts_as_a_set_of_numbers(pieces in prop::collection::vec((0_u64..60, 0_u64..12), 0..40)) {
            let mut ranges = RangeSet::default();
            let mut numbers = BTreeSet::new();
            for (begin, length) in pieces {
                let new = (begin..begin + length).filter(|number| numbers.insert(*number)).count() as u64;
                prop_assert_eq!(ranges.insert(begin, begin + length), new);
            }
            prop_assert_eq!(ranges.members(), numbers.len() as u64);
            for number in 0..72 {
                prop_assert_eq!(ranges.contains(number), numbers.contains(&number));
            }
            let span = numbers.first().zip(numbers.last()).map_or(0, |(first, last)| last - first + 1);
            prop_assert_eq!(ranges.span(), span);
            let mut expected = 0;
            for (begin, end) in &ranges.ranges {
                prop_assert!(begin < end && (expected == 0 || *begin > expected));
                expected = *end;
            }
        }
    }
}
