//! Random numbers: every stage has a stream of its own, so that adding a stage disturbs no other.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use sha2::{Digest, Sha256};

/// A stream of random numbers that follows from a seed and a name alone.
#[derive(Clone, Debug)]
pub struct Random {
    generator: ChaCha8Rng,
}

impl Random {
    /// The stream of `name` under `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        let digest = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(name.as_bytes()).finalize();
        Self { generator: ChaCha8Rng::from_seed(digest.into()) }
    }

    /// Uniform in [0, 1), in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `0..=most`, without bias (Lemire, "Fast random integer generation in an interval", 2019).
    pub fn up_to(&mut self, most: u64) -> u64 {
        let Some(range) = most.checked_add(1) else { return self.generator.next_u64() };
        loop {
            let product = u128::from(self.generator.next_u64()) * u128::from(range);
            // The low half is below 2^64 mod range for the few values that would be drawn once too often.
            if product as u64 >= range.wrapping_neg() % range {
                return (product >> 64) as u64;
            }
        }
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// Normal with mean 0 and variance 1 (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_follows_from_seed_and_name() {
        let draw = |seed, name| (0..4).map(|_| Random::new(seed, name).up_to(u64::MAX)).collect::<Vec<_>>();
        assert_eq!(draw(1, "loss"), draw(1, "loss"));
        assert_ne!(draw(1, "loss"), draw(2, "loss"));
        assert_ne!(draw(1, "loss"), draw(1, "jitter"));
    }

    /// Drawn with rand_chacha 0.9 and sha2 0.10: an upgrade that changes them changes every simulated result.
    #[test]
    fn a_stream_is_the_same_with_every_version_of_its_library() {
        let mut random = Random::new(7, "loss");
        let expected = [14135272013614415689, 1653799685963134068, 11600816016211304111, 18137173386549756581];
        assert_eq!(expected.map(|_| random.up_to(u64::MAX)), expected);
    }

    #[test]
    fn the_moments_are_those_of_the_distribution() {
        let mut random = Random::new(1, "moments");
        let count = 200_000;
        let moments = |draw: &mut dyn FnMut() -> f64| {
            let values: Vec<f64> = (0..count).map(|_| draw()).collect();
            let mean = values.iter().sum::<f64>() / f64::from(count);
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / f64::from(count);
            (mean, variance)
        };
        // Five standard errors of the mean, and about as many of the variance.
        let found = moments(&mut || random.unit());
        assert!((found.0 - 0.5).abs() < 0.0033 && (found.1 * 12.0 - 1.0).abs() < 0.01, "{found:?}");
        let found = moments(&mut || random.exponential());
        assert!((found.0 - 1.0).abs() < 0.012 && (found.1 - 1.0).abs() < 0.04, "{found:?}");
        let found = moments(&mut || random.normal());
        assert!(found.0.abs() < 0.012 && (found.1 - 1.0).abs() < 0.02, "{found:?}");
        let found = moments(&mut || random.up_to(9) as f64);
        assert!((found.0 - 4.5).abs() < 0.035 && (found.1 - 8.25).abs() < 0.1, "{found:?}");
    }
}
