//! Round numbers for axes.

/// The smallest of 1, 2 and 5 times a power of ten that is at least `least`; 1 where that is not positive.
pub(crate) fn round_step(least: f64) -> f64 {
    if least.is_nan() || least <= 0.0 {
        return 1.0;
    }
    let magnitude = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * magnitude >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * magnitude
}

/// Multiples of a round step from 0 to `most`, at most about `count` of them.
pub(crate) fn ticks(most: f64, count: usize) -> Vec<f64> {
    let step = round_step(most / count as f64);
    (0..=count + 1).map(|place| place as f64 * step).take_while(|tick| *tick <= most * (1.0 + 1e-9)).collect()
}

/// A tick as text, with as many decimals as its step needs.
pub(crate) fn label(tick: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    format!("{tick:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_one_two_or_five() {
        for (least, expected) in [(0.9, 1.0), (1.0, 1.0), (1.1, 2.0), (2.1, 5.0), (51.0, 100.0), (0.03, 0.05)] {
            assert!((round_step(least) - expected).abs() < expected * 1e-9, "{least}");
        }
        assert_eq!(round_step(0.0), 1.0);
    }

    #[test]
    fn ticks_cover_the_axis_with_round_numbers() {
        assert_eq!(ticks(100.0, 4), [0.0, 50.0, 100.0]);
        assert_eq!(ticks(0.0, 4), [0.0]);
        assert_eq!(label(0.25, 0.05), "0.25");
        assert_eq!(label(50.0, 10.0), "50");
    }
}
