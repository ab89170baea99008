//! The combinations of a matrix.

use crate::{changes::Assignment, value::inline};

/// Larger plans are taken for a mistake: at a second a run this is more than a day.
pub(crate) const MOST_RUNS: usize = 100_000;

/// How many combinations there are; `None` of more than [`MOST_RUNS`].
pub(crate) fn size(axes: &[(String, Vec<Assignment>)]) -> Option<usize> {
    let size = axes.iter().map(|(_, values)| values.len()).try_fold(1, usize::checked_mul);
    size.filter(|size| *size <= MOST_RUNS)
}

/// How many runs so many settings and repetitions make; `None` of more than [`MOST_RUNS`].
pub(crate) fn runs(settings: usize, repetitions: u32) -> Option<usize> {
    settings.checked_mul(repetitions as usize).filter(|runs| *runs <= MOST_RUNS)
}

/// Every combination of one value per axis, the last axis changing fastest.
pub(crate) fn combinations(axes: &[(String, Vec<Assignment>)]) -> Vec<Vec<&Assignment>> {
    let mut all = vec![Vec::new()];
    for (_, values) in axes {
        all = all
            .iter()
            .flat_map(|before| values.iter().map(move |value| before.iter().copied().chain([value]).collect()))
            .collect();
    }
    all
}

/// A combination in words, such as `stack.name = "quiche", path.rate = "40 Mbit/s"`.
pub(crate) fn described(combination: &[&Assignment]) -> String {
    let parts = combination.iter().map(|one| format!("{} = {}", one.key, inline(&one.value)));
    parts.collect::<Vec<_>>().join(", ")
}
