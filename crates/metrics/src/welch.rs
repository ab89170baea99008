//! Whether the means of two sets of repetitions differ by more than chance.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::Summary;

/// The two-sided p-value of Welch's t-test (Welch 1947, Biometrika 34): how often sets of values as scattered as these, but of the same
/// mean, would have means this far apart or further. A set of one value counts as scattered like nothing; so does a number, which is a
/// summary of that one value. `None` where both are of one value: then nothing is known of chance.
pub fn difference_by_chance(one: &Summary, other: &Summary) -> Option<f64> {
    // Variance of a mean, and what it adds to the degrees of freedom (Welch-Satterthwaite).
    let part = |summary: &Summary| {
        let variance = summary.standard_deviation?.powi(2) / summary.count as f64;
        Some((variance, variance.powi(2) / (summary.count - 1) as f64))
    };
    let parts: Vec<_> = [one, other].into_iter().filter_map(part).collect();
    if parts.is_empty() {
        return None;
    }
    let variance: f64 = parts.iter().map(|part| part.0).sum();
    let distance = (one.mean - other.mean).abs();
    if variance == 0.0 {
        return Some(if distance == 0.0 { 1.0 } else { 0.0 });
    }
    let freedom = variance.powi(2) / parts.iter().map(|part| part.1).sum::<f64>();
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(2.0 * distribution.sf(distance / variance.sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(one: &[f64], other: &[f64]) -> Option<f64> {
        let [one, other] = [one, other].map(|values| Summary::of(values.iter().copied()).unwrap());
        difference_by_chance(&one, &other)
    }

    #[test]
    fn it_agrees_with_scipy() {
        // SciPy 1.17: ttest_ind(..., equal_var=False).pvalue
        let found = p(&[27.5, 21.0, 19.0, 23.6, 17.0, 17.9], &[27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0]);
        assert!((found.unwrap() - 0.201_988_677_353_455_05).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_set_against_a_number_is_student_s_test() {
        // SciPy 1.17: ttest_1samp([1, 2, 3, 4], 2).pvalue
        let found = p(&[1.0, 2.0, 3.0, 4.0], &[2.0]);
        assert!((found.unwrap() - 0.495_025_346_059_711_1).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn nothing_is_known_of_the_chance_between_single_values() {
        assert_eq!(p(&[1.0], &[2.0]), None);
    }

    #[test]
    fn without_scatter_any_difference_is_real() {
        assert_eq!((p(&[1.0, 1.0], &[2.0, 2.0]), p(&[1.0, 1.0], &[1.0])), (Some(0.0), Some(1.0)));
    }
}
