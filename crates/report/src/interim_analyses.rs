//! Repetitions that are added until claims are decided.

use quiclab_metrics::alpha_at_analysis;
use serde::{Deserialize, Serialize};

/// When results that grow are evaluated: with `first` repetitions, twice as many, four times as many, up to `most`.
///
/// Each evaluation has its own part of the allowed error ([`alpha_at_analysis`]), so that a claim is misjudged no more often than with a single
/// one. The verdict follows from the records alone: who evaluates them later repeats the same evaluations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterimAnalyses {
    /// Repetitions at the first evaluation.
    pub first: u32,
    /// Repetitions at the last one, at least `first`.
    pub most: u32,
}

impl InterimAnalyses {
    /// The number of each evaluation, from 1, its repetitions, and its part of `alpha`.
    pub fn schedule(self, alpha: f64) -> impl Iterator<Item = (u32, u32, f64)> {
        let doubled = move |before: &u32| (*before < self.most).then(|| before.saturating_mul(2).min(self.most));
        let repetitions = std::iter::successors(Some(self.first.clamp(1, self.most.max(1))), doubled);
        (1..).zip(repetitions).map(move |(look, repetitions)| (look, repetitions, alpha_at_analysis(alpha, look)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_double_up_to_the_most_and_share_the_error() {
        let all: Vec<_> = InterimAnalyses { first: 3, most: 20 }.schedule(0.06).collect();
        let repetitions: Vec<_> = all.iter().map(|(look, repetitions, _)| (*look, *repetitions)).collect();
        assert_eq!(repetitions, [(1, 3), (2, 6), (3, 12), (4, 20)]);
        assert!(all.iter().map(|(_, _, alpha)| alpha).sum::<f64>() < 0.06);
        assert_eq!(all[0].2, 0.03);
    }

    #[test]
    fn as_many_at_first_as_at_most_is_one_evaluation() {
        let count = |first, most| InterimAnalyses { first, most }.schedule(0.05).count();
        assert_eq!((count(100, 100), count(1, 1), count(50, 100), count(u32::MAX - 1, u32::MAX)), (1, 1, 2, 2));
    }
}
