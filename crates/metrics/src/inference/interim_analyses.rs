//! Looking more than once at results that are still growing.

/// The part of `alpha` that may be spent at a look, counted from 1: `alpha / (look * (look + 1))`. The parts of all looks, however many there
/// will be, add up to `alpha`, so whoever stops at the first finding is wrong no more often than that.
pub fn alpha_at_analysis(alpha: f64, look: u32) -> f64 {
    let look = f64::from(look);
    alpha / (look * (look + 1.0))
}

#[cfg(test)]
mod tests {
    use super::alpha_at_analysis;

    #[test]
    fn the_parts_add_up_to_the_whole() {
        // The sum telescopes: 1 - 1 / (n + 1) of it after n looks.
        let sum: f64 = (1..=999).map(|look| alpha_at_analysis(0.05, look)).sum();
        assert!((sum - 0.05 * 0.999).abs() < 1e-12, "{sum}");
        assert_eq!(alpha_at_analysis(0.05, 1), 0.025);
    }
}
