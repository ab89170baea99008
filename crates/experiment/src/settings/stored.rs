//! Resolved settings in a record: a table for each section, every setting that has a meaning as a file would have it.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeMap as _};
use toml::{Table, Value};

use super::{
    draft::{Draft, QUEUE_BDP, REPETITIONS, Setting, all, find},
    resolved::Settings,
};
use crate::{error::nearest, value::inline};

/// The settings of one section, by their names within it.
struct Section<'a>(&'a [(&'static str, Value)]);

impl Serialize for Section<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sections: Vec<(&str, Vec<(&str, Value)>)> = Vec::new();
        for (setting, value) in all().filter_map(|setting| Some((setting, (setting.value)(self)?))) {
            let entry = (own_name(setting), value);
            match sections.last_mut() {
                Some((name, entries)) if *name == setting.section() => entries.push(entry),
                _ => sections.push((setting.section(), vec![entry])),
            }
        }
        let mut map = serializer.serialize_map(Some(sections.len()))?;
        for (name, entries) in &sections {
            map.serialize_entry(name, &Section(entries))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(Table::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

fn own_name(setting: &Setting) -> &'static str {
    setting.key.split_once('.').map_or(setting.key, |(_, name)| name)
}

/// Reads resolved settings. One that is missing must have no meaning beside the others, or be one that earlier versions did not have.
fn read(table: Table) -> Result<Settings, String> {
    let mut draft = Draft::default();
    for (key, value) in flat(table)? {
        let Some(setting) = find(&key).filter(|setting| is_of_runs(setting)) else {
            let known = all().filter(|setting| is_of_runs(setting)).map(|setting| setting.key);
            let hint = nearest(&key, known).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            return Err(format!("{key}: found a key that does not exist in a resolved run{hint}"));
        };
        if draft.is_given(setting.key) {
            return Err(format!("{key}: found a second value of {}, expected one", setting.key));
        }
        if let Some(Err(refused)) = draft.set(&key, &value) {
            return Err(format!("{key}: {}", refused.message));
        }
    }
    for setting in all() {
        let has_meaning = (setting.value)(&draft.settings).is_some();
        match (draft.is_given(setting.key), has_meaning, setting.neutral.and_then(|neutral| neutral())) {
            (true, true, _) | (false, false, _) => {}
            (true, false, _) => {
                return Err(format!("{}: found a value that has no effect with the other settings", setting.key));
            }
            (false, true, Some(neutral)) => {
                let read = (setting.read)(&mut draft, &neutral);
                read.map_err(|refused| format!("{}: {}", setting.key, refused.message))?;
            }
            (false, true, None) => {
                return Err(format!("{}: missing; a resolved run has a value for every setting", setting.key));
            }
        }
    }
    Ok(draft.into_settings())
}

/// False for the settings of a plan.
fn is_of_runs(setting: &Setting) -> bool {
    !REPETITIONS.iter().chain(QUEUE_BDP).any(|of_plan| of_plan.key == setting.key)
}

/// Dotted keys with their values.
fn flat(table: Table) -> Result<BTreeMap<String, Value>, String> {
    let mut keys = BTreeMap::new();
    for (section, value) in table {
        match value {
            Value::Table(entries) => {
                keys.extend(entries.into_iter().map(|(name, value)| (format!("{section}.{name}"), value)));
            }
            value => {
                keys.insert(section, value);
            }
        }
    }
    of_nested_layout(keys)
}

/// Records before there were sections of testbeds nested what belongs together, and stored what follows from other settings.
fn of_nested_layout(mut keys: BTreeMap<String, Value>) -> Result<BTreeMap<String, Value>, String> {
    for derived in ["hosts.segment_pacing", "stack.txtime_deadline"] {
        keys.remove(derived);
    }
    for (nested, prefix) in [("hosts.server_qdisc", ""), ("hosts.thefts", "hosts.theft_"), ("hosts.model", "hosts.")] {
        let table = match keys.remove(nested) {
            Some(Value::Table(table)) => table,
            Some(value) => {
                keys.insert(nested.to_owned(), value);
                continue;
            }
            None => continue,
        };
        let kind = table.get("kind").cloned();
        let prefix = match kind.as_ref().and_then(Value::as_str) {
            _ if !prefix.is_empty() => prefix,
            Some("fq") => "hosts.fq_",
            Some("etf") => "hosts.etf_",
            Some(_) => "hosts.",
            None => return Err(format!("{nested}: found {}, expected a table with a kind", inline(&table.into()))),
        };
        for (name, value) in table {
            let key = if name == "kind" { nested.to_owned() } else { format!("{prefix}{name}") };
            keys.insert(key, value);
        }
    }
    Ok(keys)
}
