//! The warnings of a whole report, the rare ones first: what nearly every row has says little about one of them.

use crate::groups::{Group, GroupWarning};

/// Rows with the same warning that are told one by one; of more, the first stands for all.
const MOST_APART: usize = 6;

/// One warning, and where it was given.
pub(crate) struct WarningGroup<'a> {
    /// Stable name of the warning.
    pub code: String,
    /// Every row that has the warning, in the order of the rows; at least one.
    pub rows: Vec<(&'a Group<'a>, GroupWarning)>,
}

impl WarningGroup<'_> {
    /// True where the first row is to stand for all.
    pub fn is_common(&self) -> bool {
        self.rows.len() > MOST_APART
    }
}

/// Every warning of every row, by its name.
pub(crate) fn warning_groups<'a>(groups: &'a [Group<'a>]) -> Vec<WarningGroup<'a>> {
    let mut all: Vec<WarningGroup> = Vec::new();
    for (group, warning) in groups.iter().flat_map(|group| group.warnings().into_iter().map(move |one| (group, one))) {
        match all.iter_mut().find(|known| known.code == warning.code) {
            Some(known) => known.rows.push((group, warning)),
            None => all.push(WarningGroup { code: warning.code.clone(), rows: vec![(group, warning)] }),
        }
    }
    all.sort_by_key(|warning_groups| warning_groups.rows.len());
    all
}

/// Which runs of a row have it; nothing where there is only one.
pub(crate) fn of_runs(group: &Group, warning: &GroupWarning) -> String {
    match group.runs.len() {
        1 => String::new(),
        runs => format!(" ({} of {runs} runs)", warning.runs),
    }
}
