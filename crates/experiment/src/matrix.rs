//! The combinations of a matrix.

use crate::{changes::Assignment, value::inline};

/// Larger plans are taken for a mistake: at a second a run this is more than a day.
pub(crate) const MOST_RUNS: usize = 100_000;

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
