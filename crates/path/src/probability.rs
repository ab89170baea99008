//! A chance between 0 and 1.

/// A probability from 0 to 1, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Probability(f64);

/// A number that is no probability.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("found {0}, expected a probability from 0 to 1, such as 0.05 for 5 %")]
pub struct NoProbability(f64);

impl Probability {
    /// Certainty.
    pub const ONE: Self = Self(1.0);
    /// One of ten.
    pub const TENTH: Self = Self(0.1);

    /// Returns the probability as a number from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Probability {
    type Error = NoProbability;

    fn try_from(value: f64) -> Result<Self, NoProbability> {
        if (0.0..=1.0).contains(&value) { Ok(Self(value)) } else { Err(NoProbability(value)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_probability_is_refused() {
        for value in [-0.1, 1.000_001, 5.0, f64::NAN, f64::INFINITY] {
            assert!(Probability::try_from(value).is_err(), "{value}");
        }
        assert_eq!(Probability::try_from(1.0).unwrap().get(), 1.0);
    }
}
