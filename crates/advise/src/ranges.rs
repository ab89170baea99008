//! Which bytes of a flight have arrived.

use std::ops::Range;

/// Bytes in ranges that neither touch nor overlap, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(Vec<Range<u64>>);

impl Ranges {
    /// Adds a range.
    pub fn insert(&mut self, mut added: Range<u64>) {
        if added.is_empty() {
            return;
        }
        self.0.retain(|range| {
            let is_apart = range.end < added.start || added.end < range.start;
            if !is_apart {
                added = added.start.min(range.start)..added.end.max(range.end);
            }
            is_apart
        });
        let at = self.0.partition_point(|range| range.start < added.start);
        self.0.insert(at, added);
    }

    /// Whether all of a range is there.
    pub fn contains(&self, wanted: &Range<u64>) -> bool {
        wanted.is_empty() || self.0.iter().any(|range| range.start <= wanted.start && wanted.end <= range.end)
    }

    /// The first part of `whole` that is not there, at most `most` bytes.
    pub fn first_gap(&self, whole: Range<u64>, most: u64) -> Option<Range<u64>> {
        let mut start = whole.start;
        for range in &self.0 {
            if range.start > start {
                break;
            }
            start = start.max(range.end);
        }
        let next = self.0.iter().map(|range| range.start).find(|begin| *begin > start).unwrap_or(whole.end);
        let end = next.min(whole.end).min(start.saturating_add(most));
        (start < end).then_some(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one_and_gaps_are_found_in_order() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.first_gap(0..100, 30), Some(0..30));
        ranges.insert(0..10);
        ranges.insert(20..30);
        assert_eq!(ranges.first_gap(0..100, 30), Some(10..20));
        ranges.insert(10..20);
        assert!(ranges.0.len() == 1 && ranges.contains(&(0..30)));
        assert_eq!(ranges.first_gap(0..100, 1000), Some(30..100));
        assert!(ranges.contains(&(5..30)) && !ranges.contains(&(5..31)) && ranges.contains(&(50..50)));
        ranges.insert(5..100);
        assert_eq!(ranges.first_gap(0..100, 1000), None);
    }
}
