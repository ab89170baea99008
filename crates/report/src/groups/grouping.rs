//! Which runs of a report belong together, and what was published of them.

use quiclab_experiment::{Published, labels, run::Settings, setting_text};

use super::{group::Group, repeated};
use crate::input::ReportInput;

/// The groups of a report, in the order in which their first runs stand.
pub(crate) fn all(input: &ReportInput) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for run in &input.runs {
        let settings = &run.run.settings;
        match groups.iter_mut().find(|group| group.settings == settings) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group {
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

/// Whether packets of any run were captured.
pub(crate) fn is_captured(groups: &[Group]) -> bool {
    groups.iter().any(|group| group.settings.tap.enabled)
}

/// What was published of something that no group is like, under the names it was given.
pub(crate) fn published_alone<'a>(input: &'a ReportInput, groups: &[Group]) -> Vec<&'a Published> {
    let is_shown = |row: &Published| groups.iter().any(|group| group.published.is_some_and(|shown| shown == row));
    input.published.iter().filter(|row| row.name.is_some() && !is_shown(row)).collect()
}

/// What to call something that was published and not run.
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
