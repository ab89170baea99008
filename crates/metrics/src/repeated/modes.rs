//! Values around two centres.

use super::dip;
use crate::Summary;

/// Sizes of samples, and the dip that 1 of 100 samples of a uniform distribution exceeds, times the root of the size. The uniform distribution
/// is the unimodal one with the largest dips (Hartigan and Hartigan 1985), so of others fewer samples do. From 200,000 samples each; a test
/// simulates them again.
const LIMITS: [(f64, f64); 10] = [
    (8.0, 0.4913),
    (9.0, 0.4931),
    (10.0, 0.5052),
    (12.0, 0.5141),
    (15.0, 0.5268),
    (20.0, 0.5390),
    (30.0, 0.5575),
    (50.0, 0.5750),
    (100.0, 0.5902),
    (200.0, 0.6039),
];
/// Modes nearer than this share of the median are no news.
const LEAST_DISTANCE: f64 = 0.01;

/// Two modes of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// The dip of the sample.
    pub dip: f64,
    /// Values in each, the lower first.
    pub counts: [usize; 2],
    /// Their medians.
    pub centres: [f64; 2],
}

impl Modes {
    /// The two modes, where the sample has more than one: its dip is larger than that of 99 of 100 samples of a uniform distribution, and the
    /// centres are at least 1 % of the median apart. `None` with fewer than eight values: with six, even two points in equal parts can be chance.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        let dip = dip(values);
        if dip <= limit(count)? {
            return None;
        }
        let mut ascending = values.to_vec();
        ascending.sort_by(f64::total_cmp);
        let (low, high) = ascending.split_at(best_split(&ascending));
        let centre = |part: &[f64]| Summary::of(part.iter().copied()).map(|summary| summary.median);
        let (low_centre, high_centre) = (centre(low)?, centre(high)?);
        let middle = centre(&ascending)?;
        let is_far = high_centre - low_centre >= LEAST_DISTANCE * middle.abs();
        is_far.then_some(Self { dip, counts: [low.len(), high.len()], centres: [low_centre, high_centre] })
    }
}

/// The dip that a sample must exceed. The root of its size times the dip changes slowly with the size, so values between are interpolated.
fn limit(count: usize) -> Option<f64> {
    let size = count as f64;
    let after = LIMITS.iter().position(|(known, _)| *known >= size);
    let scaled = match after {
        Some(0) if LIMITS[0].0 > size => return None,
        Some(0) => LIMITS[0].1,
        Some(after) => {
            let ((low, one), (high, other)) = (LIMITS[after - 1], LIMITS[after]);
            one + (other - one) * (size - low) / (high - low)
        }
        None => LIMITS[LIMITS.len() - 1].1,
    };
    Some(scaled / size.sqrt())
}

/// Where to cut sorted values so that the squares around the means of both parts are least.
fn best_split(ascending: &[f64]) -> usize {
    let squares = |part: &[f64]| {
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        part.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let cost = |cut: &usize| squares(&ascending[..*cut]) + squares(&ascending[*cut..]);
    (1..ascending.len()).min_by(|one, other| cost(one).total_cmp(&cost(other))).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::simulation::Draws;

    #[test]
    fn two_groups_of_values_are_found_with_their_sizes_and_centres() {
        let mut draws = Draws(5);
        let values: Vec<_> =
            (0..20).map(|place| if place % 3 == 0 { 20.0 } else { 37.0 } + 0.3 * draws.normal()).collect();
        let modes = Modes::of(&values).unwrap();
        assert_eq!(modes.counts, [7, 13]);
        assert!((modes.centres[0] - 20.0).abs() < 0.5 && (modes.centres[1] - 37.0).abs() < 0.5, "{modes:?}");
    }

    #[test]
    fn groups_that_are_less_than_a_percent_apart_are_no_modes() {
        let of = |distance: f64| {
            let values: Vec<_> =
                (0..20).map(|place| 100.0 + f64::from(place % 2) * distance + f64::from(place) * 1e-4).collect();
            Modes::of(&values).is_some()
        };
        assert!(of(1.02) && !of(0.98));
    }

    #[test]
    fn one_outlier_is_no_mode() {
        let mut values: Vec<_> = (0..20).map(f64::from).collect();
        values[19] = 1000.0;
        assert_eq!(Modes::of(&values), None);
    }

    #[test]
    fn few_values_have_no_modes() {
        assert_eq!(Modes::of(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]), None);
        assert!(Modes::of(&[1.0, 1.001, 1.002, 1.003, 2.0, 2.001, 2.002, 2.003]).is_some());
    }

    fn quantile(size: usize, samples: usize, seed: u64) -> f64 {
        let mut draws = Draws(seed);
        let mut dips: Vec<_> =
            (0..samples).map(|_| dip(&(0..size).map(|_| draws.uniform()).collect::<Vec<_>>())).collect();
        dips.sort_by(f64::total_cmp);
        dips[samples * 99 / 100] * (size as f64).sqrt()
    }

    #[test]
    fn the_limits_are_those_of_uniform_samples() {
        for (size, known) in LIMITS.into_iter().filter(|(size, _)| *size <= 30.0) {
            let found = quantile(size as usize, 4000, 12);
            assert!((found / known - 1.0).abs() < 0.05, "{size}: found {found}, expected {known}");
        }
    }
}
