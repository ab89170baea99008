//! Statistics over repetitions.

/// What a set of values looks like. All values must be finite; so are all metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of values, at least 1.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the sample (divided by n − 1). `None` for a single value.
    pub standard_deviation: Option<f64>,
    /// The middle value, or the mean of the middle two.
    pub median: f64,
    /// Smallest value.
    pub minimum: f64,
    /// Largest value.
    pub maximum: f64,
}

impl Summary {
    /// `None` without values. The order of the values makes no difference, not even in the last bit.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Summary> {
        let mut ascending: Vec<f64> = values.into_iter().collect();
        ascending.sort_by(f64::total_cmp);
        let (&minimum, &maximum) = (ascending.first()?, ascending.last()?);
        let count = ascending.len();
        // Around the minimum, so that values far from 0 keep their last digits.
        let offsets = || ascending.iter().map(|value| value - minimum);
        let mean_offset = offsets().sum::<f64>() / count as f64;
        let squares: f64 = offsets().map(|offset| (offset - mean_offset).powi(2)).sum();
        let middle = count / 2;
        Some(Summary {
            count,
            mean: minimum + mean_offset,
            standard_deviation: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
            median: if count % 2 == 1 { ascending[middle] } else { ascending[middle - 1].midpoint(ascending[middle]) },
            minimum,
            maximum,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Summary;

    #[test]
    fn nothing_has_no_summary() {
        assert_eq!(Summary::of([]), None);
    }

    #[test]
    fn one_value_has_no_deviation() {
        let summary = Summary::of([3.5]).unwrap();
        assert_eq!(summary.standard_deviation, None);
        assert_eq!((summary.mean, summary.median), (3.5, 3.5));
    }

    #[test]
    fn a_worked_example_comes_out_as_on_paper() {
        // Squared distances from 5: 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32; 32 / 7.
        let summary = Summary::of([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!(summary.count, 8);
        assert_eq!(summary.mean, 5.0);
        assert_eq!(summary.standard_deviation, Some((32.0_f64 / 7.0).sqrt()));
        assert_eq!(summary.median, 4.5);
        assert_eq!((summary.minimum, summary.maximum), (2.0, 9.0));
    }

    #[test]
    fn a_small_spread_far_from_zero_is_not_lost() {
        let summary = Summary::of([1e15, 1e15 + 1.0, 1e15 + 2.0]).unwrap();
        assert_eq!(summary.standard_deviation, Some(1.0));
    }

    #[test]
    fn equal_values_deviate_by_exactly_zero() {
        assert_eq!(Summary::of([0.1; 3]).unwrap().standard_deviation, Some(0.0));
    }
}
