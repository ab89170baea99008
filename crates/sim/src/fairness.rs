//! Jain's index of fairness (Jain, Chiu and Hawe, "A Quantitative Measure of Fairness", 1984).

/// (sum of x)² / (n × sum of x²): 1 where all have the same, 1/n where one has everything; `None` of no flows, or where nobody has anything.
pub fn jain(shares: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for share in shares {
        count += 1.0;
        sum += share;
        squares += share * share;
    }
    (squares > 0.0).then(|| sum * sum / (count * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_are_one_and_a_single_owner_is_one_of_n() {
        assert_eq!(jain([3.0; 7]), Some(1.0));
        assert_eq!(jain([0.0, 0.0, 5.0, 0.0]), Some(0.25));
        assert_eq!(jain([1.0, 2.0, 3.0]), Some(36.0 / 42.0));
        assert_eq!(jain([]), None);
        assert_eq!(jain([0.0, 0.0]), None);
    }
}
