//! Values far from all others.

use crate::Summary;

/// Distance from the median, in median absolute deviations, beyond which a value is an outlier: ten standard deviations, since 1.4826 of these
/// deviations are one standard deviation of normal values. It is the threshold of hyperfine (`OUTLIER_THRESHOLD`), after Iglewicz and Hoaglin,
/// "How to Detect and Handle Outliers" (1993).
const THRESHOLD: f64 = 1.4826 * 10.0;
/// Number of values from which on outliers are looked for. With fewer the median absolute deviation can be tiny by chance: of five normal
/// values, one sample in thirty would have an "outlier".
pub const FEWEST_FOR_OUTLIERS: usize = 8;
/// The median absolute deviation counts as at least this share of the median. Where more than half of the values are equal it is 0, and then the
/// smallest difference would be an outlier (hyperfine takes it so).
const LEAST_DEVIATION: f64 = 1e-4;

/// The places of the values that are outliers; none of fewer than [`FEWEST_FOR_OUTLIERS`] values.
pub fn outliers(values: &[f64]) -> Vec<usize> {
    if values.len() < FEWEST_FOR_OUTLIERS {
        return Vec::new();
    }
    let median = |values: &mut dyn Iterator<Item = f64>| Summary::of(values).map_or(0.0, |summary| summary.median);
    let middle = median(&mut values.iter().copied());
    let deviation = median(&mut values.iter().map(|value| (value - middle).abs())).max(middle.abs() * LEAST_DEVIATION);
    let is_far = |value: f64| (value - middle).abs() > THRESHOLD * deviation;
    (0..values.len()).filter(|place| is_far(values[*place])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Median 10, median absolute deviation 0.2.
    const VALUES: [f64; 9] = [9.6, 9.7, 9.8, 9.9, 10.0, 10.1, 10.2, 10.3, 10.4];

    #[test]
    fn a_value_just_beyond_ten_deviations_is_an_outlier_and_one_just_inside_is_not() {
        let limit = 14.826 * 0.2;
        for (last, expected) in [(10.0 + limit * 1.001, vec![8]), (10.0 + limit * 0.999, vec![])] {
            let mut values = VALUES;
            values[8] = last;
            assert_eq!(outliers(&values), expected, "{last}");
        }
        let mut values = VALUES;
        values[0] = 10.0 - limit * 1.001;
        assert_eq!(outliers(&values), [0]);
    }

    #[test]
    fn values_that_are_nearly_all_equal_have_an_outlier_only_where_it_matters() {
        let mut values = [1000.0; 12];
        values[3] = 1001.0;
        assert!(outliers(&values).is_empty());
        values[3] = 1002.0;
        assert_eq!(outliers(&values), [3]);
        assert!(outliers(&[0.0; 12]).is_empty());
    }

    #[test]
    fn few_values_have_no_outliers() {
        assert!(outliers(&[1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 100.0]).is_empty());
        assert_eq!(outliers(&[1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 100.0]), [7]);
        assert!(outliers(&[]).is_empty());
    }
}
