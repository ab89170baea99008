//! Which runs of a report belong together, and what was published of them.

use std::collections::BTreeSet;

use quiclab_experiment::{Published, labels, run::Settings, setting_text};

use super::{group::Group, repeated};
use crate::input::ReportInput;

/// Settings that name a stack.
const STACKS: [&str; 3] = ["stack.name", "stack.server", "stack.client"];

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

/// The row that says most about which runs it is of; of equals one with the whole names of the stacks, then the first.
fn best_match<'a>(published: &'a [Published], settings: &Settings) -> Option<&'a Published> {
    let is_of = |row: &&Published| row.matches.iter().all(|(key, value)| fit(settings, key, value).is_some());
    // The last of equals would win; rows are looked at from the end, so the first does.
    let candidates = published.iter().rev().filter(is_of);
    candidates.max_by_key(|row| (row.matches.len(), other_builds(row, settings).is_empty()))
}

/// How a setting is like a published one.
#[derive(PartialEq)]
enum Fit {
    Equal,
    /// The same stack, built with options of which the published name has none.
    OtherBuild,
}

fn fit(settings: &Settings, key: &str, published: &str) -> Option<Fit> {
    let found = setting_text(settings, key)?;
    if found == published {
        return Some(Fit::Equal);
    }
    let is_same = STACKS.contains(&key) && found.split_once(' ').is_some_and(|(name, _)| name == published);
    is_same.then_some(Fit::OtherBuild)
}

/// The stacks that a published row names without options of their builds, where these runs have some.
pub(crate) fn other_builds<'a>(row: &'a Published, settings: &Settings) -> BTreeSet<&'a str> {
    let is_other = |(key, value): &(&String, &String)| fit(settings, key, value) == Some(Fit::OtherBuild);
    row.matches.iter().filter(is_other).map(|(_, value)| value.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn row(stack: &str) -> Published {
        Published { matches: BTreeMap::from([("stack.name".to_owned(), stack.to_owned())]), ..Published::default() }
    }

    fn settings(stack: &str) -> Settings {
        let mut settings = Settings::default();
        settings.stack.name = stack.to_owned();
        settings
    }

    #[test]
    fn options_of_a_build_match_a_row_that_names_none() {
        let rows = [row("picoquic"), row("picoquic wait=poll"), row("quiche")];
        let of = |stack: &str| best_match(&rows, &settings(stack)).map(|row| row.matches["stack.name"].as_str());
        assert_eq!(of("picoquic"), Some("picoquic"));
        assert_eq!(of("picoquic wait=select"), Some("picoquic"));
        assert_eq!(of("picoquic wait=poll"), Some("picoquic wait=poll"));
        assert_eq!(of("picoquic-2 wait=poll"), None);
        assert_eq!(of("quic"), None);
        // A row that names options is about no other build.
        assert_eq!(best_match(&rows[1..], &settings("picoquic")), None);
        assert_eq!(best_match(&rows[1..], &settings("picoquic wait=select")), None);
        assert_eq!(other_builds(&rows[0], &settings("picoquic wait=select")), BTreeSet::from(["picoquic"]));
        assert!(other_builds(&rows[0], &settings("picoquic")).is_empty());
    }
}
