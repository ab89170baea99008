//! The noncentral t distribution, as far as power needs it.

use statrs::{
    distribution::{ContinuousCDF, Normal},
    function::gamma::ln_gamma,
};

/// Steps of the integral over the estimated standard deviation; even.
const STEPS: u32 = 600;
/// Halvings of an interval: more than a double has bits.
const HALVINGS: u32 = 60;

/// The noncentrality (true mean over standard error) with which a two-sided t-test with this critical value finds a difference with
/// probability `power`.
pub(super) fn noncentrality(critical: f64, freedom: f64, power: f64) -> f64 {
    let (mut low, mut high) = (0.0, critical + 1.0);
    while found(critical, freedom, high) < power {
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if found(critical, freedom, middle) < power { low = middle } else { high = middle }
    }
    high
}

/// Probability that |T| exceeds `critical`, T with this noncentrality: the mean over S, the estimated over the true standard deviation, of
/// the probability that a normal variable around the noncentrality is beyond `critical * S`. Simpson's rule.
fn found(critical: f64, freedom: f64, noncentrality: f64) -> f64 {
    let normal = Normal::standard();
    let beyond = |s: f64| normal.cdf(noncentrality - critical * s) + normal.cdf(-noncentrality - critical * s);
    // freedom * S^2 is chi-squared.
    let half = freedom / 2.0;
    let constant = 2.0_f64.ln() + half * half.ln() - ln_gamma(half);
    let density = |s: f64| match s {
        0.0 if freedom > 1.0 => 0.0,
        0.0 => constant.exp(),
        s => (constant + (freedom - 1.0) * s.ln() - half * s * s).exp(),
    };
    // The standard deviation of S is about 1 / sqrt(2 freedom).
    let width = 10.0 / (2.0 * freedom).sqrt();
    let (start, end) = ((1.0 - width).max(0.0), 1.0 + width);
    let step = (end - start) / f64::from(STEPS);
    let sum: f64 = (0..=STEPS)
        .map(|number| {
            let weight = match number {
                0 | STEPS => 1.0,
                number if number % 2 == 1 => 4.0,
                _ => 2.0,
            };
            let s = start + step * f64::from(number);
            weight * density(s) * beyond(s)
        })
        .sum();
    sum * step / 3.0
}
