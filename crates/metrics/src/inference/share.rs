//! A share that was counted, such as that of handshakes that complete.

use statrs::distribution::{Beta, ContinuousCDF};

/// The exact interval of Clopper and Pearson (1934) for the true share behind `some` of `all`, at most `all`: each side misses the truth with
/// a chance of at most `alpha` / 2. Of nothing at all it is the whole range from 0 to 1.
pub fn share_interval(some: u64, all: u64, alpha: f64) -> (f64, f64) {
    let quantile = |successes: u64, failures: u64, p: f64| {
        // Both parameters are counts above 0, so there is such a distribution.
        Beta::new(successes as f64, failures as f64).map_or(f64::NAN, |beta| beta.inverse_cdf(p))
    };
    let low = if some == 0 { 0.0 } else { quantile(some, all - some + 1, alpha / 2.0) };
    let high = if some == all { 1.0 } else { quantile(some + 1, all - some, 1.0 - alpha / 2.0) };
    (low, high)
}

#[cfg(test)]
mod tests {
    use statrs::function::factorial::ln_binomial;

    use super::share_interval;

    /// The chance of at most `some` successes of `all`, summed term by term.
    fn at_most(some: u64, all: u64, share: f64) -> f64 {
        let term = |count: u64| {
            let failures = (all - count) as f64;
            (ln_binomial(all, count) + count as f64 * share.ln() + failures * (1.0 - share).ln()).exp()
        };
        (0..=some).map(term).sum()
    }

    #[test]
    fn none_and_all_have_a_closed_form() {
        let [(low, high), (other_low, other_high)] = [share_interval(0, 12, 0.05), share_interval(12, 12, 0.05)];
        let expected = 1.0 - 0.025f64.powf(1.0 / 12.0);
        assert!(low == 0.0 && (high - expected).abs() < 1e-9, "{high} {expected}");
        assert!(other_high == 1.0 && (other_low - (1.0 - expected)).abs() < 1e-9, "{other_low}");
    }

    #[test]
    fn each_bound_leaves_half_of_the_error_by_the_binomial_distribution() {
        for (some, all, alpha) in [(1, 12, 0.05), (6, 12, 0.05), (19, 20, 0.01), (120, 2160, 0.05)] {
            let (low, high) = share_interval(some, all, alpha);
            let [below, above] = [at_most(some, all, high), 1.0 - at_most(some - 1, all, low)];
            assert!((below - alpha / 2.0).abs() < 1e-6, "{some} of {all}: {below}");
            assert!((above - alpha / 2.0).abs() < 1e-6, "{some} of {all}: {above}");
        }
    }

    #[test]
    fn nothing_says_nothing() {
        assert_eq!(share_interval(0, 0, 0.05), (0.0, 1.0));
    }
}
