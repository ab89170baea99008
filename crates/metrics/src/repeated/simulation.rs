//! How often the tests are wrong, and how often right, on numbers of which the truth is known.

use super::{Drift, FEWEST_FOR_OUTLIERS, Modes, outliers};
use crate::inference::simulation::Draws;

const SAMPLES: usize = 3000;

/// The share of samples of `count` values for which `finds` is true.
fn share(count: usize, draw: fn(&mut Draws) -> f64, finds: fn(&[f64]) -> bool) -> f64 {
    let mut draws = Draws(7);
    let sample = |draws: &mut Draws| (0..count).map(|_| 100.0 + draw(draws)).collect::<Vec<_>>();
    (0..SAMPLES).filter(|_| finds(&sample(&mut draws))).count() as f64 / SAMPLES as f64
}

fn has_outlier(values: &[f64]) -> bool {
    !outliers(values).is_empty()
}

fn drifts(values: &[f64]) -> bool {
    Drift::of(values).is_some_and(|drift| drift.p <= 0.01)
}

fn has_modes(values: &[f64]) -> bool {
    Modes::of(values).is_some()
}

fn steady(draws: &mut Draws) -> f64 {
    draws.normal()
}

#[test]
fn steady_values_seldom_look_otherwise() {
    for count in [FEWEST_FOR_OUTLIERS, 10, 20, 50] {
        for (name, finds, limit) in
            [("outlier", has_outlier as fn(&[f64]) -> bool, 0.01), ("drift", drifts, 0.014), ("modes", has_modes, 0.01)]
        {
            let found = share(count, steady, finds);
            assert!(found <= limit, "{name} in {found} of samples of {count} normal values");
        }
        // Values that are more often far above than far below are no drift and no modes either.
        for finds in [drifts as fn(&[f64]) -> bool, has_modes] {
            let found = share(count, Draws::exponential, finds);
            assert!(found <= 0.014, "{found} of samples of {count} exponential values");
        }
    }
}

#[test]
fn skewed_values_have_outliers_in_one_sample_of_fifteen_at_most() {
    let found = [8, 10, 20, 50].map(|count| share(count, Draws::exponential, has_outlier));
    assert!(found.iter().all(|found| *found < 1.0 / 15.0), "{found:?}");
}

#[test]
fn what_is_wrong_with_twenty_values_is_mostly_found() {
    let mut draws = Draws(8);
    let mut found = [0; 3];
    const ROUNDS: usize = 500;
    for _ in 0..ROUNDS {
        let steady: Vec<_> = (0..20).map(|_| 100.0 + draws.normal()).collect();
        let mut with_outlier = steady.clone();
        with_outlier[4] += 25.0;
        // Three standard deviations from first to last.
        let drifting: Vec<_> =
            steady.iter().enumerate().map(|(place, value)| value + 3.0 * place as f64 / 19.0).collect();
        let in_two: Vec<_> = steady.iter().map(|value| value + if draws.uniform() < 0.5 { 8.0 } else { 0.0 }).collect();
        for (found, is_found) in
            found.iter_mut().zip([has_outlier(&with_outlier), drifts(&drifting), has_modes(&in_two)])
        {
            *found += usize::from(is_found);
        }
    }
    assert!(found.iter().all(|found| *found > ROUNDS * 7 / 10), "{found:?} of {ROUNDS}");
}
