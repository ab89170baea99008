//! Combinations of the matrix that a stack does not claim.

use std::collections::BTreeMap;

use crate::{common::Common, error::ExperimentError};

/// A combination of which a stack does not claim something.
pub(crate) struct Unclaimed {
    pub(crate) error: ExperimentError,
    /// Whether it is a setting of the command line.
    pub(crate) is_set: bool,
}

/// Combinations that were left out.
#[derive(Default)]
pub(crate) struct Skipped {
    /// How many combinations were left out, and the first error, by what is wrong with them.
    reasons: BTreeMap<String, (usize, ExperimentError)>,
}

impl Skipped {
    pub(crate) fn add(&mut self, unclaimed: Unclaimed) {
        let message = unclaimed.error.message.clone();
        self.reasons.entry(message).or_insert((0, unclaimed.error)).0 += 1;
    }

    /// The number of skipped combinations for each reason.
    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        self.reasons.iter().map(|(reason, (count, _))| (reason.clone(), *count)).collect()
    }

    /// The error where nothing is left.
    pub(crate) fn error(self, experiment: &Common) -> ExperimentError {
        /// Number of reasons that are listed at most: more are not read.
        const MOST_REASONS: usize = 8;
        let reasons: Vec<_> = self.reasons.into_values().collect();
        if let [(_, only)] = &reasons[..] {
            return only.clone();
        }
        let mut message = "matrix: found no combination that the stacks claim, expected at least one".to_owned();
        for (count, error) in reasons.iter().take(MOST_REASONS) {
            message.push_str(&format!("\n  {} ({count} combinations)", error.message));
        }
        if let Some(more) = reasons.len().checked_sub(MOST_REASONS).filter(|more| *more > 0) {
            message.push_str(&format!("\n  and {more} other reasons"));
        }
        experiment.error(None, message, None)
    }
}
