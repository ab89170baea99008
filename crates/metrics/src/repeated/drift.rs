//! Values that rise or fall with time.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::Summary;

/// Up to so many values without ties the p-value is exact.
const MOST_EXACT: usize = 40;

/// A rank correlation of values with the order in which they were measured: the Mann-Kendall test (Mann, Econometrica 13, 1945). It asks
/// nothing of the distribution of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Kendall's tau-a, -1 to 1: rising pairs less falling ones as a share of all pairs.
    pub tau: f64,
    /// How often chance alone would order the values at least this well, in either direction.
    pub p: f64,
    /// What the values changed by from first to last: the median slope of all pairs (Theil and Sen) times the number of steps, in the unit of
    /// the values.
    pub change: f64,
}

impl Drift {
    /// Drift of values in the order in which they were measured. `None` with fewer than three.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        if count < 3 {
            return None;
        }
        let pairs = || (0..count).flat_map(|later| (0..later).map(move |earlier| (earlier, later)));
        let sign = |(earlier, later): (usize, usize)| match values[later].total_cmp(&values[earlier]) {
            std::cmp::Ordering::Less => -1,
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Greater => 1,
        };
        let score: i64 = pairs().map(sign).sum();
        let has_ties = pairs().any(|pair| sign(pair) == 0);
        let p = if has_ties || count > MOST_EXACT { p_of_normal(score, values) } else { p_exact(score, count) };
        let slope = |(earlier, later): (usize, usize)| (values[later] - values[earlier]) / (later - earlier) as f64;
        let slope = Summary::of(pairs().map(slope))?.median;
        let all = count as f64 * (count as f64 - 1.0) / 2.0;
        Some(Self { tau: score as f64 / all, p, change: slope * (count - 1) as f64 })
    }
}

/// Two-sided, by counting: of all orders of `count` values, the share with at least this score. The orders with so many inversions are counted
/// value by value: the k-th value can be put before 0 to k - 1 others.
fn p_exact(score: i64, count: usize) -> f64 {
    let pairs = count * (count - 1) / 2;
    let mut shares = vec![1.0];
    for placed in 1..count {
        let mut next = vec![0.0; shares.len() + placed];
        for (inversions, share) in shares.iter().enumerate() {
            for more in 0..=placed {
                next[inversions + more] += share / (placed + 1) as f64;
            }
        }
        shares = next;
    }
    // The score is the number of pairs less twice the inversions; the distribution is symmetric.
    let most = (pairs as u64 - score.unsigned_abs()) / 2;
    let tail: f64 = shares.iter().take(most as usize + 1).sum();
    (2.0 * tail).min(1.0)
}

/// Two-sided, by the normal distribution with correction for continuity and ties (Kendall, Rank Correlation Methods, chapter 4).
fn p_of_normal(score: i64, values: &[f64]) -> f64 {
    let mut ascending = values.to_vec();
    ascending.sort_by(f64::total_cmp);
    let weight = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let ties: f64 = ascending.chunk_by(|one, other| one == other).map(|equal| weight(equal.len() as f64)).sum();
    let variance = (weight(values.len() as f64) - ties) / 18.0;
    if score == 0 || variance <= 0.0 {
        return 1.0;
    }
    let z = (score.unsigned_abs() as f64 - 1.0) / variance.sqrt();
    (2.0 * Normal::standard().sf(z)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "found {found}, expected {expected}");
    }

    #[test]
    fn values_in_perfect_order_are_one_of_two_orders_among_all() {
        let rising = Drift::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        // 2 / 6!
        near(rising.p, 2.0 / 720.0);
        assert_eq!((rising.tau, rising.change), (1.0, 5.0));
        let falling = Drift::of(&[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]).unwrap();
        near(falling.p, rising.p);
        assert_eq!((falling.tau, falling.change), (-1.0, -5.0));
    }

    #[test]
    fn one_inversion_among_four_is_counted_by_hand() {
        // Orders of four with at most one inversion: 1 + 3 of 24; both directions.
        let drift = Drift::of(&[1.0, 2.0, 4.0, 3.0]).unwrap();
        near(drift.p, 8.0 / 24.0);
        near(drift.tau, 4.0 / 6.0);
    }

    #[test]
    fn the_exact_p_of_a_table_is_found() {
        // Kendall's table for n = 10: P(S >= 25) = 0.014, P(S >= 29) = 0.0046.
        assert!((p_exact(25, 10) / 2.0 - 0.014).abs() < 5e-4);
        assert!((p_exact(29, 10) / 2.0 - 0.0046).abs() < 5e-5);
        near(p_exact(1, 3), 1.0);
    }

    #[test]
    fn ties_and_many_values_go_by_the_normal_distribution_which_agrees_with_counting() {
        let values: Vec<_> = (0..MOST_EXACT).map(|place| ((place * 7) % 40) as f64 + place as f64 / 50.0).collect();
        let score = |drift: Drift| (drift.tau * 780.0).round() as i64;
        let exact = Drift::of(&values).unwrap();
        assert!((p_of_normal(score(exact), &values) - exact.p).abs() < 0.005, "{exact:?}");
        // All equal: no order at all.
        let equal = Drift::of(&[3.0; 10]).unwrap();
        assert_eq!((equal.tau, equal.p, equal.change), (0.0, 1.0, 0.0));
        // SciPy-free check of the variance: n = 4 with one tie of two is (4*3*13 - 2*1*9) / 18 = 7.666...; S = 5, z = 4 / sqrt(7.666...).
        let tied = Drift::of(&[1.0, 2.0, 2.0, 3.0]).unwrap();
        near(tied.p, 2.0 * Normal::standard().sf(4.0 / (138.0_f64 / 18.0).sqrt()));
    }

    #[test]
    fn two_values_have_no_drift() {
        assert_eq!(Drift::of(&[1.0, 2.0]), None);
    }
}
