//! Settings of groups of flows that a command line gives.

use std::collections::BTreeSet;

use crate::{
    changes::Changes,
    common::Common,
    error::{ExperimentError, nearest},
};

use super::declaration::{FLOWS, of_flows};

/// Checks the groups of flows that `set` names. A group that the file does not have is a mistyped one. A setting that every
/// group has for itself cannot be given to all of them at once: it would change nothing.
///
/// # Errors
/// The key, and the groups or keys that are expected.
pub(super) fn check_groups(scenario: &Common, set: &Changes) -> Result<(), ExperimentError> {
    let own: BTreeSet<_> = scenario.changes.keys().chain(set.keys()).collect();
    let groups = scenario.changes.keys().filter_map(|key| of_flows(key)?.0);
    let groups: BTreeSet<_> = groups.chain(scenario.changes.named.iter().map(String::as_str)).collect();
    for key in set.keys() {
        match of_flows(key) {
            Some((Some(group), _)) if !groups.contains(group) => {
                let expected = match groups.iter().copied().collect::<Vec<_>>().join(", ") {
                    none if none.is_empty() => "none, because the file defines no group".to_owned(),
                    names => format!("one of {names}"),
                };
                let hint = nearest(group, groups.iter().copied()).map(|near| format!("did you mean {near}?"));
                let message = format!("--set {key}: found the group of flows {group:?}, expected {expected}");
                return Err(scenario.error(None, message, hint));
            }
            Some((None, _)) if !groups.is_empty() => {
                let setting = key.rsplit('.').next().unwrap_or_default();
                let each: Vec<_> = groups.iter().map(|group| format!("{FLOWS}.{group}.{setting}")).collect();
                if each.iter().all(|key| own.contains(key.as_str())) {
                    let message = format!(
                        "--set {key}: found a setting that each group of flows sets separately, expected {}",
                        each.join(" or ")
                    );
                    return Err(scenario.error(None, message, None));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
