//! Quantiles of values that are in order.

/// Values in order.
pub(crate) fn ascending(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// The quantile, between the two nearest values, as R's type 7 and numpy have it. `None` where there is no value.
pub(crate) fn quantile(ascending: &[f64], share: f64) -> Option<f64> {
    let place = share * ascending.len().checked_sub(1)? as f64;
    let (below, above) = (*ascending.get(place.floor() as usize)?, *ascending.get(place.ceil() as usize)?);
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_numpy() {
        // numpy.quantile([1, 2, 4, 8], [0.05, 0.25, 0.5, 0.75, 0.95])
        let expected = [(0.05, 1.15), (0.25, 1.75), (0.5, 3.0), (0.75, 5.0), (0.95, 7.4)];
        for (share, expected) in expected {
            let found = quantile(&[1.0, 2.0, 4.0, 8.0], share).unwrap();
            assert!((found - expected).abs() < 1e-12, "{share}: {found}");
        }
        assert_eq!((quantile(&[5.0], 0.95), quantile(&[], 0.5)), (Some(5.0), None));
    }
}
