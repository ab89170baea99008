//! Settings as text: for filters, for published rows, for labels, for people.

use std::{collections::BTreeMap, fmt::Display};

use quiclab_units::{ByteCount, Duration, Rate};
use toml::Value;

use crate::{
    run::{Qdisc, Settings},
    settings::SETTINGS,
    value::inline,
};

/// The value of a dotted setting as it would be written in a file, without quotes; quantities in their largest whole
/// unit. `None` where there is no such setting, or where it has no meaning: `hosts.fq_flow_limit_packets` without "fq",
/// `hosts.etf_delta` without "etf", `workload.repetitions` of a single run.
pub fn setting_text(settings: &Settings, key: &str) -> Option<String> {
    let snap_length = |bytes: Option<ByteCount>| bytes.map_or_else(|| "full".to_owned(), |bytes| bytes.to_string());
    match (key, &settings.hosts.server_qdisc) {
        // What a run stores in another shape than a file has it.
        ("tap.snaplen", _) => Some(snap_length(settings.tap.snaplen)),
        ("tap.bottleneck_snaplen", _) => Some(snap_length(settings.tap.bottleneck_snaplen)),
        ("workload.streams", _) => {
            Some(settings.workload.streams.map_or_else(|| "all".to_owned(), |streams| streams.to_string()))
        }
        ("stack.gso_segments", _) => {
            Some(settings.stack.gso_segments.map_or_else(|| "all".to_owned(), |segments| segments.to_string()))
        }
        ("hosts.fq_flow_limit_packets", Qdisc::Fq { flow_limit_packets }) => Some(flow_limit_packets.to_string()),
        ("hosts.etf_delta", Qdisc::Etf { delta }) => Some(delta.to_string()),
        ("hosts.server_qdisc", _) => stored(settings, "hosts.server_qdisc.kind"),
        _ if SETTINGS.iter().any(|setting| setting.key == key) => stored(settings, key),
        _ => None,
    }
}

/// The settings in which two runs differ, by key; "none" where one has no meaning.
pub fn settings_differences(one: &Settings, other: &Settings) -> BTreeMap<String, [String; 2]> {
    let text = |settings: &Settings, key: &str| setting_text(settings, key).unwrap_or_else(|| "none".to_owned());
    let pairs =
        SETTINGS.iter().map(|setting| (setting.key.to_owned(), [text(one, setting.key), text(other, setting.key)]));
    pairs.filter(|(_, [one, other])| one != other).collect()
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

/// A value by its path through the serialised settings.
fn stored(settings: &Settings, path: &str) -> Option<String> {
    let mut value = Value::try_from(settings).ok()?;
    for part in path.split('.') {
        value = value.as_table_mut()?.remove(part)?;
    }
    Some(value.as_str().map_or_else(|| inline(&value), str::to_owned))
}
