//! Repeating until a mean is known well enough.

use super::Estimate;

/// One minus the level of the interval.
const ALPHA: f64 = 0.05;
/// Factor on the number that would do if the spread stayed as it is: a few more values cost less than another round.
const MARGIN: f64 = 1.1;

/// How well the mean of some values is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// Number of values.
    pub count: usize,
    /// Half of the width of the mean's 95 % interval (Student's t), as a share of the mean.
    pub half_width: f64,
}

impl Precision {
    /// Precision of the mean of at least two values; `None` of fewer, or where the mean is 0 and the values are not.
    pub fn of(values: &[f64]) -> Option<Self> {
        let estimate = Estimate::of_mean(values, 0.0)?;
        let (low, high) = estimate.interval(ALPHA);
        let half = (high - low) / 2.0;
        let half_width = if half == 0.0 { 0.0 } else { half / estimate.mean.abs() };
        half_width.is_finite().then_some(Self { count: values.len(), half_width })
    }

    /// How many values to look at next, where `width` was not reached: as many as it would take if the spread stayed as it is and a few more,
    /// at most twice as many as there are. `None` where it was.
    pub fn next_count(&self, width: f64) -> Option<usize> {
        if self.half_width <= width {
            return None;
        }
        let needed = self.count as f64 * (self.half_width / width).powi(2) * MARGIN;
        Some((needed.ceil().min(2.0 * self.count as f64) as usize).max(self.count + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::simulation::Draws;

    #[test]
    fn the_half_width_is_student_s() {
        // Mean 2.5; SciPy 1.17, t.interval(0.95, 3, 2.5, sem): 0.445739743 to 4.554260257.
        let precision = Precision::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((precision.half_width - 2.054_260_257 / 2.5).abs() < 1e-8, "{precision:?}");
        assert_eq!(Precision::of(&[1.0]), None);
        assert_eq!(Precision::of(&[-1.0, 1.0]), None);
        assert_eq!(Precision::of(&[7.0; 3]).unwrap().half_width, 0.0);
        assert_eq!(Precision::of(&[0.0; 3]).unwrap().half_width, 0.0);
    }

    #[test]
    fn the_next_number_follows_from_the_spread_and_at_most_doubles() {
        let next = |half_width| Precision { count: 10, half_width }.next_count(0.02);
        assert_eq!(next(0.02), None);
        // 10 * 1.05^2 * 1.1 = 12.13
        assert_eq!(next(0.021), Some(13));
        assert_eq!(next(0.020_000_1), Some(12));
        assert_eq!(next(0.2), Some(20));
    }

    /// Repeats until the interval is narrow: the last interval contains the true mean nearly as often as one of a fixed number of values.
    /// The values' standard deviation is such that 5, or about 20, or about 100 of them are enough.
    #[test]
    fn stopping_at_a_narrow_interval_costs_little_of_its_level() {
        const ROUNDS: usize = 4000;
        for (deviation, least) in [(0.01, 0.94), (0.043, 0.91), (0.1, 0.92)] {
            let mut draws = Draws(21);
            let mut right = 0;
            let mut counts = 0;
            for _ in 0..ROUNDS {
                let mut values = Vec::new();
                let mut count = 5;
                loop {
                    values.resize_with(count, || 1.0 + deviation * draws.normal());
                    match Precision::of(&values).and_then(|precision| precision.next_count(0.02)) {
                        Some(next) => count = next,
                        None => break,
                    }
                }
                let (low, high) = Estimate::of_mean(&values, 0.0).unwrap().interval(ALPHA);
                right += usize::from(low <= 1.0 && 1.0 <= high);
                counts += values.len();
            }
            let share = right as f64 / ROUNDS as f64;
            println!("{deviation}: {share} right, {} values", counts as f64 / ROUNDS as f64);
            assert!(share >= least, "{deviation}: {share}");
        }
    }
}
