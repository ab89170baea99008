//! Words for settings, their values and groups of flows, in figures and tables: those of the file, and otherwise usual ones.

mod read;
mod words;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    declaration::group_and_key,
    texts::{distinguishing, scenario_labels},
};
use words::words_of;

/// What a file calls its settings, their values and its groups of flows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    /// What the file calls settings and their values, by dotted key.
    #[serde(default)]
    pub settings: BTreeMap<String, SettingLabels>,
    /// What the file calls groups of flows, by the name of a group.
    #[serde(default)]
    pub groups: BTreeMap<String, String>,
}

/// What a file calls a setting and its values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingLabels {
    /// The setting; `None` where the file does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The words for the setting's values, by their text.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
}

impl Labels {
    /// A group of flows.
    pub fn group<'a>(&'a self, name: &'a str) -> &'a str {
        self.groups.get(name).map_or(name, String::as_str)
    }

    /// A setting, for an axis, without unit.
    pub fn setting(&self, key: &str) -> String {
        let (group, plain) = group_and_key(key);
        let own = self.of(key).and_then(|labels| labels.name.clone());
        let name =
            own.unwrap_or_else(|| words_of(&plain).map_or_else(|| last_words(key), |words| words.name.to_owned()));
        group.map_or(name.clone(), |group| format!("{}: {name}", self.group(group)))
    }

    /// The unit that values of a setting have in addition to their text; empty for most, whose text has one.
    pub fn unit(&self, key: &str) -> &'static str {
        let is_renamed = self.of(key).is_some_and(|labels| labels.name.is_some());
        words_of(&group_and_key(key).1).filter(|_| !is_renamed).map_or("", |words| words.unit)
    }

    /// A value alone, for a tick of an axis.
    pub fn value(&self, key: &str, text: &str) -> String {
        let own = self.of(key).and_then(|labels| labels.values.get(text).cloned());
        let known = || words_of(&group_and_key(key).1)?.value(text);
        own.or_else(|| known().map(str::to_owned)).unwrap_or_else(|| text.replace('_', " "))
    }

    /// A value with what it is a value of, for a legend: `paced`, `buffer of 0.25 BDP`.
    pub fn phrase(&self, key: &str, text: &str) -> String {
        let (group, plain) = group_and_key(key);
        let phrase = self.phrase_of_all(key, &plain, text);
        group.map_or(phrase.clone(), |group| format!("{}: {phrase}", self.group(group)))
    }

    fn phrase_of_all(&self, key: &str, plain: &str, text: &str) -> String {
        let own = self.of(key);
        if let Some(words) = own.and_then(|labels| labels.values.get(text)) {
            return words.clone();
        }
        let value = self.value(key, text);
        match (own.and_then(|labels| labels.name.as_ref()), words_of(plain)) {
            (Some(name), _) => format!("{name} {value}"),
            (None, Some(words)) => words.phrase(text).replace("{}", &value),
            (None, None) => match text {
                "true" => last_words(key),
                "false" => format!("no {}", last_words(key)),
                _ => format!("{} {value}", last_words(key)),
            },
        }
    }

    /// The words for a key of a group are those for all flows where it has none of its own.
    fn of(&self, key: &str) -> Option<&SettingLabels> {
        self.settings.get(key).or_else(|| self.settings.get(&group_and_key(key).1))
    }

    /// What sets each of several settings apart from the others, in words. Where two would have the same words, their keys and values
    /// follow.
    pub fn of_settings(&self, all: &[BTreeMap<String, String>]) -> Vec<String> {
        let keys = distinguishing(all);
        if keys.is_empty() {
            return vec!["all runs".to_owned(); all.len()];
        }
        let words = |texts: &BTreeMap<String, String>| {
            let phrases = keys.iter().filter_map(|key| Some(self.phrase(key, texts.get(*key)?)));
            phrases.collect::<Vec<_>>().join(", ")
        };
        let labels: Vec<_> = all.iter().map(words).collect();
        let is_double = |label: &String| labels.iter().filter(|other| *other == label).count() > 1;
        let whole = labels.iter().zip(scenario_labels(all));
        whole.map(|(label, keys)| if is_double(label) { format!("{label} ({keys})") } else { label.clone() }).collect()
    }
}

/// The last part of a key as words.
fn last_words(key: &str) -> String {
    key.rsplit('.').next().unwrap_or(key).replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::settings::keys;

    fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn named() -> Labels {
        let pacing = SettingLabels { name: None, values: texts(&[("off", "Reno"), ("rtt", "Paced Reno")]) };
        let rtt = SettingLabels { name: Some("distance".to_owned()), values: BTreeMap::new() };
        Labels {
            settings: BTreeMap::from([("flows.pacing".to_owned(), pacing), ("flows.rtt".to_owned(), rtt)]),
            groups: texts(&[("near", "Near flows")]),
        }
    }

    #[test]
    fn no_key_is_left_in_any_label() {
        let labels = Labels::default();
        for key in keys() {
            for text in [labels.setting(key), labels.phrase(key, "some_value"), labels.phrase(key, "true")] {
                assert!(!text.contains(['_', '=', '.']), "{key}: {text:?}");
            }
            assert!(labels.phrase(key, "some_value").contains("some value"), "{key}");
        }
    }

    #[test]
    fn usual_words_are_those_of_the_field() {
        let labels = Labels::default();
        for (key, value, expected) in [
            ("flows.pacing", "rtt", "paced"),
            ("flows.congestion_control", "cubic", "CUBIC"),
            ("bottleneck.buffer_bdp", "0.25", "buffer of 0.25 BDP"),
            ("bottleneck.rate", "57 Mbit/s", "57 Mbit/s"),
            ("bottleneck.queue", "drop_tail", "drop-tail"),
            ("flows.far.rtt", "280 ms", "far: RTT 280 ms"),
            ("flows.hystart", "false", "without HyStart++"),
        ] {
            assert_eq!(labels.phrase(key, value), expected);
        }
        assert_eq!(
            (labels.setting("bottleneck.buffer_bdp").as_str(), labels.unit("bottleneck.buffer_bdp")),
            ("buffer", "BDP")
        );
    }

    #[test]
    fn words_of_the_file_come_first() {
        let labels = named();
        assert_eq!(labels.phrase("flows.pacing", "rtt"), "Paced Reno");
        assert_eq!(labels.phrase("flows.near.pacing", "rtt"), "Near flows: Paced Reno");
        assert_eq!(labels.phrase("flows.rtt", "280 ms"), "distance 280 ms");
        assert_eq!(labels.setting("flows.near.rtt"), "Near flows: distance");
    }

    #[test]
    fn equal_words_are_told_apart_by_their_keys() {
        let mut labels = named();
        let all = ["off", "rtt"].map(|pacing| texts(&[("flows.pacing", pacing), ("bottleneck.delay", "40 ms")]));
        assert_eq!(labels.of_settings(&all), ["Reno", "Paced Reno"]);
        labels.settings.values_mut().for_each(|one| one.values.values_mut().for_each(|words| *words = "x".to_owned()));
        assert_eq!(labels.of_settings(&all), ["x (pacing=off)", "x (pacing=rtt)"]);
        assert_eq!(labels.of_settings(&all[..1]), ["all runs"]);
    }
}
