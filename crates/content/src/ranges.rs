//! Sets of offsets that are mostly contiguous, bounded.

/// Most ranges of one set. With more, the gap between the two lowest is closed: what is missing there counts as known.
const MAXIMUM_RANGES: usize = 1024;

/// Ranges that neither overlap nor touch, ascending; begin included, end not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Adds `begin..end`; true where a part of it was not known.
    pub(crate) fn insert(&mut self, begin: u64, end: u64) -> bool {
        if begin >= end {
            return false;
        }
        let first = self.0.partition_point(|range| range.1 < begin);
        let last = self.0.partition_point(|range| range.0 <= end);
        let touching = &self.0[first..last];
        if let [only] = touching
            && only.0 <= begin
            && end <= only.1
        {
            return false;
        }
        let from = touching.first().map_or(begin, |range| range.0.min(begin));
        let to = touching.last().map_or(end, |range| range.1.max(end));
        self.0.splice(first..last, [(from, to)]);
        if self.0.len() > MAXIMUM_RANGES {
            let (_, end) = self.0.remove(1);
            self.0[0].1 = end;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_set_that_is_full_closes_its_lowest_gap() {
        let mut ranges = Ranges::default();
        for number in 0..=MAXIMUM_RANGES as u64 {
            assert!(ranges.insert(2 * number, 2 * number + 1));
        }
        assert_eq!(ranges.0.len(), MAXIMUM_RANGES);
        assert!(!ranges.insert(1, 2));
        assert!(ranges.insert(3, 4));
    }

    proptest! {
        #[test]
        fn a_range_is_new_unless_every_number_of_it_was_inserted(inserted in prop::collection::vec((0u64..64, 0u64..16), 0..40)) {
            let (mut ranges, mut known) = (Ranges::default(), [false; 80]);
            for (begin, length) in inserted {
                let part = &mut known[begin as usize..(begin + length) as usize];
                prop_assert_eq!(ranges.insert(begin, begin + length), part.iter().any(|known| !known));
                part.fill(true);
            }
            let count: u64 = ranges.0.iter().map(|(begin, end)| end - begin).sum();
            prop_assert_eq!(count, known.iter().filter(|known| **known).count() as u64);
            prop_assert!(ranges.0.windows(2).all(|pair| pair[0].1 < pair[1].0));
        }
    }
}
