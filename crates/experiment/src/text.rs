//! Settings as text: for filters, for published rows, for labels, for people.

use std::{collections::BTreeMap, fmt::Display};

use crate::settings::{
    Settings,
    draft::{Setting, all, find},
    one_stage::stage_text,
};
use quiclab_units::{ByteCount, Duration, Rate};

/// The value of a dotted setting as it would be written in a file, without quotes; quantities in their largest whole
/// unit. A key of an earlier version is understood. `None` where there is no such setting, or where it has no meaning: those of "fq" and "etf" without
/// them, the clock of send times with either, those of paced segments and thefts without them, `workload.repetitions` of a single run.
pub fn setting_text(settings: &Settings, key: &str) -> Option<String> {
    find(key).map_or_else(|| stage_text(settings, key), |setting| text(setting, settings))
}

/// Every setting with its text, in the order of the reference, also where it follows from others. `None` where it has no meaning.
pub fn setting_list(settings: &Settings) -> Vec<(&'static str, Option<String>)> {
    all().map(|setting| (setting.key, setting.text(settings))).collect()
}

/// The texts of all settings, in the order of [`all`].
pub(crate) fn setting_texts(settings: &Settings) -> Vec<Option<String>> {
    all().map(|setting| text(setting, settings)).collect()
}

fn text(setting: &Setting, settings: &Settings) -> Option<String> {
    setting.text(settings).filter(|_| !(setting.is_implied)(settings))
}

/// The settings in which two runs differ, by key; "none" where one has no meaning.
pub fn settings_differences(one: &Settings, other: &Settings) -> BTreeMap<String, [String; 2]> {
    let shown = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
    let [one, other] = [one, other].map(|settings| setting_texts(settings).into_iter().map(shown));
    let keys = all().map(|setting| setting.key.to_owned());
    keys.zip(one.zip(other).map(<[String; 2]>::from)).filter(|(_, [one, other])| one != other).collect()
}

/// All settings as TOML, as they stand in a record.
pub fn settings_text(settings: &Settings) -> String {
    toml::to_string(settings).expect("every setting has a TOML form")
}

/// The text that [`setting_text`] gives to a value, whatever unit it was written with: `40 Mbit/s` for `40000 kbit/s`.
pub(crate) fn canonical(text: &str) -> String {
    // The units of rates, sizes and times have no name in common, so at most one of them understands the text.
    let rate = || text.parse::<Rate>().map(|rate| rate.to_string()).ok();
    let size = || text.parse::<ByteCount>().map(|size| size.to_string()).ok();
    let time = || text.parse::<Duration>().map(|time| time.to_string()).ok();
    rate().or_else(size).or_else(time).unwrap_or_else(|| text.to_owned())
}

/// Several values in words: `"a", "b"`.
pub(crate) fn quoted(values: impl IntoIterator<Item: Display>) -> String {
    values.into_iter().map(|value| format!("{:?}", value.to_string())).collect::<Vec<_>>().join(", ")
}
