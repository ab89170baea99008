//! Many exact tests of counts.

use super::failures_by_chance;

/// The smallest p-value that [`failures_by_chance`] can have for as many failures and runs in all: one side has as many of them as it can.
pub fn smallest_by_chance(one: (u64, u64), other: (u64, u64)) -> f64 {
    let failed = one.0 + other.0;
    let first = failed.min(one.1);
    let last = failed - failed.min(other.1);
    [first, last]
        .into_iter()
        .map(|count| failures_by_chance((count, one.1), (failed - count, other.1)))
        .fold(1.0, f64::min)
}

/// Corrects p-values of exact tests together by Tarone's method (A modified Bonferroni method for discrete data, Biometrics 46, 1990): a test
/// that cannot show anything, whatever side its failures fall on, takes nothing from the others. Each test is its p-value and the smallest
/// that it can have; the chance that any of the results is at most `alpha` where nothing differs is at most `alpha`.
pub fn tarone(tests: &[(f64, f64)], alpha: f64) -> Vec<f64> {
    let able = |count: usize| tests.iter().filter(|(_, smallest)| *smallest <= alpha / count as f64).count();
    let factor = (1..=tests.len()).find(|count| able(*count) <= *count).unwrap_or(tests.len().max(1));
    let corrected = |(p, smallest): &(f64, f64)| {
        let is_able = *smallest <= alpha / factor as f64;
        if is_able { (p * factor as f64).min(1.0) } else { 1.0 }
    };
    tests.iter().map(corrected).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_p_has_all_failures_on_one_side() {
        // Of 8 choose 4 ways two are all on one side.
        assert!((smallest_by_chance((2, 4), (2, 4)) - 2.0 / 70.0).abs() < 1e-12);
        // One failure of 8 runs is as likely here as there.
        assert!((smallest_by_chance((1, 4), (0, 4)) - 1.0).abs() < 1e-12);
        // 5 failures do not fit on a side of 4: 4 and 1 are 2 * 4 of 56 ways.
        assert!((smallest_by_chance((3, 4), (2, 4)) - 8.0 / 56.0).abs() < 1e-12);
        assert_eq!(smallest_by_chance((0, 4), (0, 4)), 1.0);
    }

    #[test]
    fn a_test_that_can_show_nothing_costs_nothing() {
        let able = (0.0286, 0.0286);
        let unable = (1.0, 1.0);
        // Alone, and among many without a failure.
        assert_eq!(tarone(&[able], 0.05)[0], 0.0286);
        assert_eq!(tarone(&[able, unable, unable, unable], 0.05)[0], 0.0286);
        // Two that could show something at 5 % cannot both at 2.5 %, so that neither shows anything there.
        assert_eq!(tarone(&[able, able], 0.05), [1.0, 1.0]);
        assert_eq!(tarone(&[(0.001, 0.001), (0.5, 0.001)], 0.05), [0.002, 1.0]);
        assert_eq!(tarone(&[], 0.05), Vec::<f64>::new());
    }

    #[test]
    fn without_a_difference_findings_are_no_more_than_allowed() {
        // All ways in which 2 failures of 10 runs fall on two sides of 5, in each of three cells: the chance of any finding, summed exactly.
        let outcomes: Vec<((f64, f64), f64)> = (0..=4u64)
            .map(|count| {
                let [one, other] = [(count, 5), (4 - count, 5)];
                let ways = |all: u64, some: u64| {
                    (0..some).fold(1.0, |ways, step| ways * (all - step) as f64 / (step + 1) as f64)
                };
                let chance = ways(5, count) * ways(5, 4 - count) / ways(10, 4);
                ((failures_by_chance(one, other), smallest_by_chance(one, other)), chance)
            })
            .collect();
        let mut any = 0.0;
        for (first, of_first) in &outcomes {
            for (second, of_second) in &outcomes {
                for (third, of_third) in &outcomes {
                    if tarone(&[*first, *second, *third], 0.15).iter().any(|p| *p <= 0.15) {
                        any += of_first * of_second * of_third;
                    }
                }
            }
        }
        assert!(any > 0.0 && any <= 0.15, "{any}");
    }
}
