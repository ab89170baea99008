//! Many p-values at once.

/// Corrects p-values for their number by Holm's step-down method (Scandinavian Journal of Statistics 6, 1979): rejecting those at or below a
/// level makes a single false rejection, among all of them, no more likely than that level, whatever they have to do with each other. In the
/// order given; each at most 1 and never below its own.
pub fn holm(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<_> = (0..values.len()).collect();
    order.sort_by(|left, right| values[*left].total_cmp(&values[*right]));
    let mut corrected = vec![1.0; values.len()];
    let mut largest: f64 = 0.0;
    for (rank, place) in order.into_iter().enumerate() {
        largest = largest.max(values[place] * (values.len() - rank) as f64).min(1.0);
        corrected[place] = largest;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::holm;

    #[test]
    fn a_worked_example_comes_out_as_on_paper() {
        // Ordered 0.005, 0.01, 0.03, 0.04; times 4, 3, 2, 1: 0.02, 0.03, 0.06, 0.04; no smaller than the one before: 0.06 at the end.
        let found = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn a_single_value_stays_and_none_exceeds_one() {
        assert_eq!(holm(&[0.3]), [0.3]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
