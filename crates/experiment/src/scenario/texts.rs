//! Settings of scenarios as text: for claims, filters and labels.

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::{expect::Comparable, value::inline};

use super::{FLOWS, settings::ScenarioSettings};

impl ScenarioSettings {
    /// The text of every setting by its dotted key, as it would be written in a file, without quotes. Those of flows stand under the name of
    /// each group, and without a name where all groups have the same.
    pub fn texts(&self) -> BTreeMap<String, String> {
        let stored = Value::try_from(self).expect("every setting has a TOML form");
        let mut texts = BTreeMap::new();
        let sections = stored.as_table().into_iter().flatten();
        for (section, table) in sections.filter_map(|(name, value)| Some((name, value.as_table()?))) {
            if section != FLOWS {
                put(&mut texts, section, table);
                continue;
            }
            let groups: Vec<_> = table.iter().filter_map(|(name, value)| Some((name, value.as_table()?))).collect();
            let common = |key: &str, value: &Value| groups.iter().all(|(_, group)| group.get(key) == Some(value));
            if let Some((_, first)) = groups.first() {
                let same = first.iter().filter(|(key, value)| common(key, value));
                put(&mut texts, FLOWS, &same.map(|(key, value)| (key.clone(), value.clone())).collect());
            }
            for (name, group) in &groups {
                put(&mut texts, &format!("{FLOWS}.{name}"), group);
            }
        }
        texts
    }
}

fn put(texts: &mut BTreeMap<String, String>, section: &str, table: &Table) {
    for (key, value) in table {
        texts.insert(format!("{section}.{key}"), text(value));
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // As it is displayed, 1 and 1.0 are the same number.
        Value::Float(number) => number.to_string(),
        other => inline(other),
    }
}

/// Settings that, where a file does not say, get their value from another.
const FOLLOWING: [(&str, &str); 2] =
    [("bottleneck.back_rate", "bottleneck.rate"), ("scenario.interval", "scenario.duration")];

/// True for a setting that may have changed only because another one, `from`, did: its default follows from that, or, as the room in packets, it is
/// computed.
pub fn follows(texts: &BTreeMap<String, String>, key: &str, from: &dyn Fn(&str) -> bool) -> bool {
    let is_room = key == "bottleneck.buffer_packets" && texts.contains_key("bottleneck.buffer_bdp");
    is_room || FOLLOWING.iter().any(|(own, source)| *own == key && from(source))
}

/// The texts of a scenario's settings are all that claims know of it.
impl Comparable for BTreeMap<String, String> {
    fn text(&self, key: &str) -> Option<String> {
        self.get(key).cloned()
    }

    /// A name without a group stands for that setting of every group. What follows from a setting that is named is not looked at.
    fn is_alike(&self, other: &Self, is_named: &dyn Fn(&str) -> bool) -> bool {
        let is_free = |key: &str| {
            let without_group = key.rsplit_once('.').map(|(_, last)| format!("{FLOWS}.{last}"));
            let of_group = key.starts_with(FLOWS) && without_group.is_some_and(|key| is_named(&key));
            is_named(key) || of_group || follows(self, key, is_named)
        };
        let keys = self.keys().chain(other.keys().filter(|key| !self.contains_key(*key)));
        keys.filter(|key| !is_free(key)).all(|key| match (self.get(key), other.get(key)) {
            (Some(one), Some(other)) => one == other,
            // What all groups share in one and not in the other is compared group by group.
            _ => is_of_all(key),
        })
    }
}

/// True for the key of flows that names no group.
fn is_of_all(key: &str) -> bool {
    key.strip_prefix(FLOWS).is_some_and(|rest| rest.matches('.').count() == 1)
}
