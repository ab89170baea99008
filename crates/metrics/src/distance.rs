//! How far apart two distributions are.

use std::collections::BTreeMap;

/// The distance of Kolmogorov and Smirnov: the largest difference between two cumulative shares, from 0 for equal distributions to 1 for
/// those that have nothing in common. Each is a list of values with their numbers, in any order, where a value may stand several times; `None`
/// where one holds nothing.
///
/// Of binned values, such as [`crate::Distributions::gaps_ns`], it is that of the bins: at most that of the values themselves.
pub fn distribution_distance(
    one: impl IntoIterator<Item = (u64, u64)>,
    other: impl IntoIterator<Item = (u64, u64)>,
) -> Option<f64> {
    let mut counts: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
    for (value, count) in one {
        counts.entry(value).or_default()[0] += count;
    }
    for (value, count) in other {
        counts.entry(value).or_default()[1] += count;
    }
    let all = |side: usize| counts.values().map(|counts| counts[side]).sum::<u64>();
    let all = [all(0), all(1)];
    if all.contains(&0) {
        return None;
    }
    let mut below = [0, 0];
    let mut largest: f64 = 0.0;
    for counts in counts.values() {
        for side in [0, 1] {
            below[side] += counts[side];
        }
        let [one, other] = [0, 1].map(|side| below[side] as f64 / all[side] as f64);
        largest = largest.max((one - other).abs());
    }
    Some(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(one: &[(u64, u64)], other: &[(u64, u64)]) -> Option<f64> {
        distribution_distance(one.iter().copied(), other.iter().copied())
    }

    #[test]
    fn it_is_the_largest_difference_of_the_cumulative_shares() {
        // Values 1, 2, 3, 4 against 1.5, 3.5 (times two): the largest differences are a quarter.
        let found = distance(&[(2, 1), (4, 1), (6, 1), (8, 1)], &[(3, 1), (7, 1)]);
        assert_eq!(found, Some(0.25));
        assert_eq!(distance(&[(1, 5)], &[(2, 9)]), Some(1.0));
        assert_eq!(distance(&[(1, 1), (2, 3)], &[(2, 2), (1, 2), (2, 4)]), Some(0.0));
    }

    #[test]
    fn of_nothing_there_is_none() {
        assert_eq!(distance(&[], &[(1, 1)]), None);
        assert_eq!(distance(&[(1, 0)], &[(1, 1)]), None);
    }
}
