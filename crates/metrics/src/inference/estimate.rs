//! A mean with what is known of its error.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::power::noncentrality;
use crate::Summary;

/// An estimated mean, of differences or of plain values, whose error has Student's t distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Standard error of the mean. 0 only where every value was the same and the resolution is 0.
    pub standard_error: f64,
    /// Degrees of freedom, more than 0.
    pub freedom: f64,
}

impl Estimate {
    /// The mean of `values`. Their variance counts as at least `least_variance`: values that a coarse scale rounds to the same number are
    /// not known to be the same. `None` with fewer than two values.
    pub fn of_mean(values: &[f64], least_variance: f64) -> Option<Self> {
        let summary = Summary::of(values.iter().copied())?;
        let variance = summary.standard_deviation?.powi(2).max(least_variance);
        let count = summary.count as f64;
        Some(Self { mean: summary.mean, standard_error: (variance / count).sqrt(), freedom: count - 1.0 })
    }

    /// The mean of `other - factor * one`, pair by pair, for values that come in pairs: runs with the same seed. `resolution` is the smallest
    /// step that the values can take; rounding to it adds a twelfth of its square to the variance of each side. Equal pairs are no exception:
    /// two or three of them do not show that the next one is equal too. `None` with fewer than two pairs.
    pub fn paired(pairs: &[(f64, f64)], factor: f64, resolution: f64) -> Option<Self> {
        let differences: Vec<_> = pairs.iter().map(|(one, other)| other - factor * one).collect();
        Self::of_mean(&differences, resolution.powi(2) / 12.0 * (1.0 + factor.powi(2)))
    }

    /// The difference of two means, `other - factor * one`, for values without pairs: Welch's approximation (Biometrika 34, 1947). `None`
    /// with fewer than two values on a side.
    pub fn unpaired(one: &[f64], other: &[f64], factor: f64, resolution: f64) -> Option<Self> {
        let least = resolution.powi(2) / 12.0;
        let scaled: Vec<_> = one.iter().map(|value| value * factor).collect();
        let one = Self::of_mean(&scaled, least * factor.powi(2))?;
        let other = Self::of_mean(other, least)?;
        let [left, right] = [one, other].map(|side| side.standard_error.powi(2));
        let variance = left + right;
        let freedom = match variance {
            0.0 => one.freedom + other.freedom,
            // Welch-Satterthwaite.
            _ => variance.powi(2) / (left.powi(2) / one.freedom + right.powi(2) / other.freedom),
        };
        Some(Self { mean: other.mean - one.mean, standard_error: variance.sqrt(), freedom })
    }

    /// The two-sided p-value of "the mean is 0".
    pub fn p(&self) -> f64 {
        if self.standard_error == 0.0 {
            return if self.mean == 0.0 { 1.0 } else { 0.0 };
        }
        2.0 * self.distribution().sf(self.mean.abs() / self.standard_error)
    }

    /// The interval that misses the true mean with probability `alpha` (0 to 1, exclusive), half of it on either side.
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        let half = self.critical(alpha) * self.standard_error;
        (self.mean - half, self.mean + half)
    }

    /// How large a true mean has to be for a two-sided test at level `alpha` to find it with probability `power`, with an error like the one
    /// that was observed.
    pub fn smallest_detectable(&self, alpha: f64, power: f64) -> f64 {
        self.standard_error * noncentrality(self.critical(alpha), self.freedom, power)
    }

    fn critical(&self, alpha: f64) -> f64 {
        self.distribution().inverse_cdf(1.0 - alpha / 2.0)
    }

    fn distribution(&self) -> StudentsT {
        StudentsT::new(0.0, 1.0, self.freedom).expect("degrees of freedom are finite and more than 0")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: [f64; 6] = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9];
    const OTHER: [f64; 8] = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0];

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6 * expected.abs().max(1.0), "found {found}, expected {expected}");
    }

    fn pairs() -> Vec<(f64, f64)> {
        ONE.into_iter().zip(OTHER).collect()
    }

    #[test]
    fn few_values_give_no_estimate() {
        assert_eq!(Estimate::of_mean(&[1.0], 0.0), None);
        assert_eq!(Estimate::paired(&[(1.0, 2.0)], 1.0, 0.0), None);
        assert_eq!(Estimate::unpaired(&[1.0, 2.0], &[3.0], 1.0, 0.0), None);
    }

    #[test]
    fn pairs_agree_with_scipy() {
        // SciPy: ttest_rel(other[:6], one), its pvalue and confidence_interval(0.95).
        let found = Estimate::paired(&pairs(), 1.0, 0.0).unwrap();
        near(found.mean, TTEST_REL.0);
        near(found.p(), TTEST_REL.1);
        near(found.interval(0.05).0, TTEST_REL.2);
        near(found.interval(0.05).1, TTEST_REL.3);
    }

    #[test]
    fn values_without_pairs_agree_with_scipy() {
        // SciPy: ttest_ind(other, one, equal_var=False), its pvalue, df and confidence_interval(0.95).
        let found = Estimate::unpaired(&ONE, &OTHER, 1.0, 0.0).unwrap();
        near(found.p(), TTEST_IND.0);
        near(found.freedom, TTEST_IND.1);
        near(found.interval(0.05).0, TTEST_IND.2);
        near(found.interval(0.05).1, TTEST_IND.3);
    }

    #[test]
    fn a_factor_scales_the_first_side() {
        let scaled: Vec<_> = pairs().into_iter().map(|(one, other)| (1.05 * one, other)).collect();
        let [left, right] =
            [(pairs(), 1.05), (scaled, 1.0)].map(|(pairs, factor)| Estimate::paired(&pairs, factor, 0.0).unwrap());
        near(left.mean, right.mean);
        near(left.standard_error, right.standard_error);
        let tenfold: Vec<_> = ONE.iter().map(|value| value * 10.0).collect();
        let [left, right] = [(&ONE[..], 10.0), (&tenfold, 1.0)]
            .map(|(one, factor)| Estimate::unpaired(one, &OTHER, factor, 0.0).unwrap());
        near(left.p(), right.p());
    }

    #[test]
    fn equal_pairs_of_a_count_are_not_certain_to_be_equal() {
        // The variance of the differences is 1/6 and t of 1 degree of freedom 12.7062: half the interval is 12.7062 * sqrt(1/12).
        let same = Estimate::paired(&[(10.0, 10.0), (11.0, 11.0)], 1.0, 1.0).unwrap();
        near(same.p(), 1.0);
        near(same.interval(0.05).1, 12.706_204_736 / 12.0_f64.sqrt());
        // On a continuous scale they are.
        let same = Estimate::paired(&[(10.0, 10.0), (11.0, 11.0)], 1.0, 0.0).unwrap();
        assert_eq!((same.p(), same.interval(0.05)), (1.0, (0.0, 0.0)));
    }

    #[test]
    fn a_constant_step_of_a_count_is_not_certain() {
        // Differences of 1 packet in three runs: the rounding of both sides has the variance 1/6, so t is sqrt(3 * 6) with 2 degrees of
        // freedom, whose two-sided p is 1 - t / sqrt(t^2 + 2).
        let step = Estimate::paired(&[(10.0, 11.0), (10.0, 11.0), (10.0, 11.0)], 1.0, 1.0).unwrap();
        let t = 18.0_f64.sqrt();
        near(step.p(), 1.0 - t / (t * t + 2.0).sqrt());
    }

    #[test]
    fn a_change_of_the_smallest_detectable_size_is_found_as_often_as_was_asked() {
        // SciPy: the root of nct.sf(t.ppf(0.975, 5), 5, x) + nct.cdf(-t.ppf(0.975, 5), 5, x) = 0.8; for 1 degree of
        // freedom, where nct fails, by quad over the distribution of the standard deviation.
        for (freedom, expected) in SMALLEST {
            let estimate = Estimate { mean: 0.0, standard_error: 2.0, freedom };
            let found = estimate.smallest_detectable(0.05, 0.8) / 2.0;
            assert!((found - expected).abs() < 1e-3 * expected, "{freedom}: {found}, expected {expected}");
        }
    }

    const TTEST_REL: (f64, f64, f64, f64) =
        (2.366_666_666_666_666_7, 0.105_479_453_655_716_45, -0.716_364_968_042_616_7, 5.449_698_301_375_95);
    const TTEST_IND: (f64, f64, f64, f64) =
        (0.201_988_677_353_455_05, 7.046_874_533_683_051, -1.696_094_052_160_207_3, 6.696_094_052_160_207);
    const SMALLEST: [(f64, f64); 4] =
        [(5.0, 3.513_902_729), (2.0, 5.653_489_266), (30.0, 2.895_358_300), (1.0, 16.334_008_87)];
}
