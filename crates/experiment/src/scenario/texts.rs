//! Settings of scenarios as text: for claims, filters and labels.

use std::collections::{BTreeMap, BTreeSet};

use quiclab_units::Duration;
use toml::{Table, Value};

use crate::{expect::Comparable, value::shown};

use super::{
    declaration::FLOWS,
    settings::{ScenarioSettings, usual_interval},
};

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
        texts.insert(format!("{section}.{key}"), shown(value));
    }
}

/// Settings that are computed if the other one is given.
const COMPUTED: [(&str, &str); 2] =
    [("bottleneck.buffer_packets", "bottleneck.buffer_bdp"), (DURATION, "scenario.duration_sawtooths")];
const DURATION: &str = "scenario.duration";
const INTERVAL: &str = "scenario.interval";

/// True for a setting that may have changed only because another one, `from`, did: its default follows from that, or it is computed.
pub fn follows(texts: &BTreeMap<String, String>, key: &str, from: &dyn Fn(&str) -> bool) -> bool {
    let is_computed = |key: &str| COMPUTED.iter().any(|(own, source)| *own == key && texts.contains_key(*source));
    match key {
        "bottleneck.back_rate" => from("bottleneck.rate"),
        INTERVAL => (is_computed(DURATION) || from(DURATION)) && has_usual_interval(texts),
        key => is_computed(key),
    }
}

/// True for a setting that is the same as the one it follows from, or computed.
fn is_computed(texts: &BTreeMap<String, String>, key: &str) -> bool {
    follows(texts, key, &|from| key == INTERVAL || texts.get(key) == texts.get(from))
}

/// True for the default interval.
fn has_usual_interval(texts: &BTreeMap<String, String>) -> bool {
    let time = |key: &str| texts.get(key).and_then(|text| text.parse::<Duration>().ok());
    time(INTERVAL).zip(time(DURATION)).is_some_and(|(interval, duration)| interval == usual_interval(duration))
}

/// A short name for each of several settings: what sets it apart from the others, such as `pacing=off, buffer_bdp=0.25`.
pub fn scenario_labels(all: &[BTreeMap<String, String>]) -> Vec<String> {
    let told = distinguishing(all);
    let label = |texts: &BTreeMap<String, String>| {
        let parts = told.iter().filter_map(|key| {
            let name = key.strip_prefix("flows.").or(key.split_once('.').map(|(_, last)| last)).unwrap_or(key);
            Some(format!("{name}={}", texts.get(key.as_str())?))
        });
        parts.collect::<Vec<_>>().join(", ")
    };
    all.iter().map(|texts| if told.is_empty() { "all runs".to_owned() } else { label(texts) }).collect()
}

/// The keys in which settings differ, without those that follow from others.
pub(super) fn distinguishing(all: &[BTreeMap<String, String>]) -> Vec<&String> {
    let keys: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let differs = |key: &str| all.iter().any(|texts| texts.get(key) != all[0].get(key));
    let is_computed = |key: &str| all.iter().all(|texts| is_computed(texts, key));
    let differing: Vec<_> = keys.into_iter().filter(|key| differs(key)).collect();
    differing.into_iter().filter(|key| !is_repeated(key, all) && !is_computed(key)).collect()
}

/// What all flows share says it all; what a group has besides is told where they do not.
fn is_repeated(key: &str, all: &[BTreeMap<String, String>]) -> bool {
    let last = key.rsplit('.').next().unwrap_or_default();
    let is_common = |texts: &BTreeMap<String, String>| texts.contains_key(&format!("{FLOWS}.{last}"));
    key.matches('.').count() > 1 && all.iter().all(|texts| is_common(texts) || !texts.contains_key(key))
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
