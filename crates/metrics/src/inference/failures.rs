//! Runs that fail.

use statrs::function::factorial::ln_factorial;

/// The two-sided p-value of Fisher's exact test: how often chance alone would spread these failures so unevenly over two sides. A side is
/// (failed, tried), failed at most tried.
pub fn failures_by_chance(one: (u64, u64), other: (u64, u64)) -> f64 {
    let failed = one.0 + other.0;
    let choose = |all: u64, some: u64| ln_factorial(all) - ln_factorial(some) - ln_factorial(all - some);
    // Of all ways in which so many failures fall on the runs of both sides, the share with `count` on the first.
    let share =
        |count: u64| (choose(one.1, count) + choose(other.1, failed - count) - choose(one.1 + other.1, failed)).exp();
    // Shares that should be equal differ in their last digits.
    let limit = share(one.0) * (1.0 + 1e-9);
    let possible = failed.saturating_sub(other.1)..=failed.min(one.1);
    possible.map(share).filter(|share| *share <= limit).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::failures_by_chance;

    #[test]
    fn four_failures_on_one_side_of_four_are_one_way_in_thirty_five() {
        // 8 choose 4 is 70 ways, of which two are all on one side.
        assert!((failures_by_chance((0, 4), (4, 4)) - 2.0 / 70.0).abs() < 1e-12);
    }

    #[test]
    fn a_lady_tasting_tea() {
        // Fisher 1935: 3 of 4 right; 1 - 36/70 two-sided.
        assert!((failures_by_chance((3, 4), (1, 4)) - 34.0 / 70.0).abs() < 1e-12);
    }

    #[test]
    fn no_failure_or_nothing_else_says_nothing() {
        assert_eq!(failures_by_chance((0, 5), (0, 7)), 1.0);
        assert!((failures_by_chance((5, 5), (7, 7)) - 1.0).abs() < 1e-12);
        assert_eq!(failures_by_chance((0, 0), (0, 3)), 1.0);
    }
}
