//! How a setting of a scenario is declared, and what its key says.

use toml::Value;

/// The section whose tables are groups of flows.
pub(crate) const FLOWS: &str = "flows";

/// Settings of which a run has one or the other.
pub(crate) const ALTERNATIVES: [[&str; 2]; 2] =
    [["bottleneck.buffer_bdp", "bottleneck.buffer_packets"], ["scenario.duration", "scenario.duration_sawtooths"]];

/// A dotted key, and what puts a value in; its error says what is expected instead.
pub(super) type Setting<T> = (&'static str, fn(&mut T, &Value) -> Result<(), String>);

/// Puts a value in; `None` where there is no such setting.
pub(super) fn set<T>(all: &[Setting<T>], into: &mut T, key: &str, value: &Value) -> Option<Result<(), String>> {
    all.iter().find(|setting| setting.0 == key).map(|setting| (setting.1)(into, value))
}

/// The group that a key names, if it is one of flows and names one, and the key without it.
pub(super) fn group_and_key(key: &str) -> (Option<&str>, String) {
    of_flows(key).unwrap_or_else(|| (None, key.to_owned()))
}

/// Group that a key of flows names, if it names one, and the key without it.
pub(super) fn of_flows(key: &str) -> Option<(Option<&str>, String)> {
    let rest = key.strip_prefix(FLOWS)?.strip_prefix('.')?;
    Some(match rest.rsplit_once('.') {
        Some((group, last)) => (Some(group), format!("{FLOWS}.{last}")),
        None => (None, key.to_owned()),
    })
}
