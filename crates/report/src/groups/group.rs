//! Repetitions of one thing, side by side with what was published of it.

use std::collections::BTreeSet;

use quiclab_experiment::{Published, RELEASE, run::Settings};
use quiclab_metrics::Summary;

use crate::{columns::Column, input::RunRow};

/// All runs with the same settings.
pub(crate) struct Group<'a> {
    /// A short name, unlike that of every other group.
    pub label: String,
    /// What the runs have in common.
    pub settings: &'a Settings,
    /// The repetitions.
    pub runs: Vec<&'a RunRow>,
    /// What was published of them.
    pub published: Option<&'a Published>,
    /// What the repetitions look like together.
    pub repeated: Vec<GroupWarning>,
}

/// A warning, and which runs of a group have it.
#[derive(Clone)]
pub(crate) struct GroupWarning {
    /// Stable name of the warning.
    pub code: String,
    /// The sentence of the first run that has the warning.
    pub message: String,
    /// Number of runs that have the warning.
    pub runs: usize,
}

impl<'a> Group<'a> {
    /// The statistics of a column over the repetitions; `None` where no run has a value.
    pub fn summary(&self, column: &Column) -> Option<Summary> {
        Summary::of(self.runs.iter().filter_map(|run| (column.value)(&run.metrics.metrics)))
    }

    /// The values of a metric, of the runs that have one.
    pub fn values(&self, metric: &str) -> Vec<f64> {
        self.runs.iter().filter_map(|run| run.metrics.metrics.value(metric).flatten()).collect()
    }

    /// The published value of a column.
    pub fn published(&self, column: &Column) -> Option<f64> {
        self.published?.values.get(column.metric).copied()
    }

    /// Says which versions differ between the runs, if any do: their statistics then mix different things.
    pub fn mixed_versions(&self) -> Option<String> {
        let (first, others) = self.runs.split_first()?;
        let differs = |name: &&String| others.iter().any(|run| run.versions.get(*name) != first.versions.get(*name));
        let names: Vec<_> = first.versions.keys().filter(|name| *name != RELEASE).filter(differs).cloned().collect();
        (!names.is_empty())
            .then(|| format!("its runs used different versions of {}: run all of them again", names.join(", ")))
    }

    /// The warnings of the runs, each code once, and those about all of them together.
    pub fn warnings(&self) -> Vec<GroupWarning> {
        let mut warnings: Vec<GroupWarning> = Vec::new();
        let once = |run: &&'a RunRow| {
            let mut codes = BTreeSet::new();
            run.metrics.warnings.iter().filter(move |warning| codes.insert(&warning.code))
        };
        for warning in self.runs.iter().flat_map(once) {
            match warnings.iter_mut().find(|known| known.code == warning.code) {
                Some(known) => known.runs += 1,
                None => {
                    warnings.push(GroupWarning {
                        code: warning.code.clone(),
                        message: warning.message.clone(),
                        runs: 1,
                    });
                }
            }
        }
        warnings.extend(self.repeated.iter().cloned());
        warnings
    }
}
