//! Repetitions of one thing, side by side with what was published of it.

use std::collections::BTreeSet;

use quiclab_experiment::{Published, RELEASE, labels, run::Settings, setting_text};
use quiclab_metrics::Summary;

use crate::{
    columns::Column,
    input::{ReportInput, RunRow},
    repeated,
};

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
    /// Its stable name.
    pub code: String,
    /// The sentence of the first run that has it.
    pub message: String,
    /// How many of the runs have it.
    pub runs: usize,
}

impl<'a> Group<'a> {
    /// The groups of a report, in the order in which their first runs stand.
    pub fn all(input: &'a ReportInput) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for run in &input.runs {
            let settings = &run.run.settings;
            match groups.iter_mut().find(|group| group.settings == settings) {
                Some(group) => group.runs.push(run),
                None => groups.push(Self {
                    label: String::new(),
                    settings,
                    runs: vec![run],
                    published: best_match(&input.published, settings),
                    repeated: Vec::new(),
                }),
            }
        }
        let names = labels(&groups.iter().map(|group| group.settings).collect::<Vec<_>>());
        for (group, name) in groups.iter_mut().zip(names) {
            group.label = name;
        }
        let repeated = repeated::warnings(&groups, input);
        for (group, repeated) in groups.iter_mut().zip(repeated) {
            group.repeated = repeated;
        }
        groups
    }

    /// The statistics of a column over the repetitions; `None` where no run has a value.
    pub fn summary(&self, column: &Column) -> Option<Summary> {
        Summary::of(self.runs.iter().filter_map(|run| (column.value)(&run.metrics.metrics)))
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

/// Whether packets of any run were captured.
pub(crate) fn is_captured(groups: &[Group]) -> bool {
    groups.iter().any(|group| group.settings.tap.enabled)
}

/// What was published of something that no group is like, under the names it was given.
pub(crate) fn published_alone<'a>(input: &'a ReportInput, groups: &[Group]) -> Vec<&'a Published> {
    let is_shown = |row: &Published| groups.iter().any(|group| group.published.is_some_and(|shown| shown == row));
    input.published.iter().filter(|row| row.name.is_some() && !is_shown(row)).collect()
}

/// What to call it.
pub(crate) fn name_alone(row: &Published) -> String {
    format!("{}, published, not run here", row.name.as_deref().unwrap_or_default())
}

/// The row that says most about which runs it is of.
fn best_match<'a>(published: &'a [Published], settings: &Settings) -> Option<&'a Published> {
    let is_of = |row: &&Published| {
        row.matches.iter().all(|(key, value)| setting_text(settings, key).as_deref() == Some(value.as_str()))
    };
    // The last of equals would win; rows are looked at from the end, so the first does.
    published.iter().rev().filter(is_of).max_by_key(|row| row.matches.len())
}
