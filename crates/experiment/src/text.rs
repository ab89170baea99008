//! Settings as text: for filters, for published rows, for labels, for people.

use std::{collections::BTreeMap, fmt::Display};

use quiclab_units::{ByteCount, Duration, Rate};
use toml::Value;

use crate::{
    run::{FairQueueing, Qdisc, Settings, word},
    settings::SETTINGS,
    value::inline,
};

/// The value of a dotted setting as it would be written in a file, without quotes; quantities in their largest whole
/// unit. `None` where there is no such setting, or where it has no meaning: those of "fq" and "etf" without them, the clock of send times with
/// either, those of paced segments and thefts without them, `workload.repetitions` of a single run.
pub fn setting_text(settings: &Settings, key: &str) -> Option<String> {
    text(settings, &stored(settings), key)
}

/// Every setting with its text, as [`setting_text`] gives it, in the order of the reference.
pub fn setting_list(settings: &Settings) -> Vec<(&'static str, Option<String>)> {
    SETTINGS.iter().map(|setting| setting.key).zip(setting_texts(settings)).collect()
}

/// The texts of all settings, in the order of [`SETTINGS`].
pub(crate) fn setting_texts(settings: &Settings) -> Vec<Option<String>> {
    let stored = stored(settings);
    SETTINGS.iter().map(|setting| text(settings, &stored, setting.key)).collect()
}

fn text(settings: &Settings, stored: &Value, key: &str) -> Option<String> {
    let snap_length = |bytes: Option<ByteCount>| bytes.map_or_else(|| "full".to_owned(), |bytes| bytes.to_string());
    match (key, &settings.hosts.server_qdisc) {
        // What a run stores in another shape than a file has it.
        ("tap.snaplen", _) => Some(snap_length(settings.tap.snaplen)),
        ("tap.bottleneck_snaplen", _) => Some(snap_length(settings.tap.bottleneck_snaplen)),
        ("tap.room", _) => Some(settings.tap.room.map_or_else(|| "transfer".to_owned(), |room| room.to_string())),
        ("workload.streams", _) => {
            Some(settings.workload.streams.map_or_else(|| "all".to_owned(), |streams| streams.to_string()))
        }
        ("stack.gso_segments", _) => {
            Some(settings.stack.gso_segments.map_or_else(|| "all".to_owned(), |segments| segments.to_string()))
        }
        // It follows from the discipline.
        ("stack.txtime_clock", Qdisc::Fq(_) | Qdisc::Etf { .. }) => None,
        ("stack.hystart", _) => Some(settings.stack.hystart.as_ref().map_or_else(unset, word)),
        (_, Qdisc::Fq(parameters)) if key.starts_with("hosts.fq_") => fair_queueing(parameters, key),
        ("hosts.etf_delta", Qdisc::Etf { delta, .. }) => Some(delta.to_string()),
        ("hosts.etf_deadline", Qdisc::Etf { deadline, .. }) => Some(deadline.to_string()),
        ("hosts.etf_launch_time", Qdisc::Etf { .. }) => Some(false.to_string()),
        ("hosts.nanoseconds_per_instruction", _) => Some(settings.hosts.nanoseconds_per_instruction.to_string()),
        ("hosts.timer_slack", _) => Some(settings.hosts.timer_slack.to_string()),
        ("hosts.receive_coalescing", _) => Some(settings.hosts.receive_coalescing.to_string()),
        ("hosts.theft_length", _) => {
            let length = settings.hosts.thefts.as_ref().map(|thefts| thefts.length);
            Some(length.unwrap_or_default().to_string())
        }
        ("hosts.theft_interval", _) => settings.hosts.thefts.as_ref().map(|thefts| thefts.interval.to_string()),
        ("hosts.theft_distribution", _) => settings.hosts.thefts.as_ref().map(|thefts| word(&thefts.distribution)),
        ("hosts.timer_step", _) => Some(settings.hosts.model.timer_step.to_string()),
        ("hosts.timer_lateness", _) => Some(settings.hosts.model.timer_lateness.to_string()),
        ("hosts.call_cost", _) => Some(settings.hosts.model.call_cost.to_string()),
        ("hosts.packet_cost", _) => Some(settings.hosts.model.packet_cost.to_string()),
        ("hosts.card_rate", _) => {
            Some(settings.hosts.model.card_rate.map_or_else(|| "none".to_owned(), |rate| rate.to_string()))
        }
        ("hosts.server_qdisc", _) => stored_at(stored, "hosts.server_qdisc.kind"),
        _ if SETTINGS.iter().any(|setting| setting.key == key) => stored_at(stored, key),
        _ => None,
    }
}

fn unset() -> String {
    "default".to_owned()
}

fn fair_queueing(parameters: &FairQueueing, key: &str) -> Option<String> {
    fn shown<T: Display>(value: &Option<T>) -> String {
        value.as_ref().map_or_else(unset, T::to_string)
    }
    Some(match key {
        "hosts.fq_flow_limit_packets" => parameters.flow_limit_packets.to_string(),
        "hosts.fq_limit_packets" => shown(&parameters.limit_packets),
        "hosts.fq_quantum" => shown(&parameters.quantum),
        "hosts.fq_initial_quantum" => shown(&parameters.initial_quantum),
        "hosts.fq_maximum_rate" => shown(&parameters.maximum_rate),
        "hosts.fq_horizon" => shown(&parameters.horizon),
        "hosts.fq_timer_slack" => shown(&parameters.timer_slack),
        _ => return None,
    })
}

/// The settings in which two runs differ, by key; "none" where one has no meaning.
pub fn settings_differences(one: &Settings, other: &Settings) -> BTreeMap<String, [String; 2]> {
    let shown = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
    let [one, other] = [one, other].map(|settings| setting_texts(settings).into_iter().map(shown));
    let keys = SETTINGS.iter().map(|setting| setting.key.to_owned());
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

fn stored(settings: &Settings) -> Value {
    Value::try_from(settings).expect("every setting has a TOML form")
}

/// A value by its path through the serialised settings.
fn stored_at(settings: &Value, path: &str) -> Option<String> {
    let value = path.split('.').try_fold(settings, |value, part| value.as_table()?.get(part))?;
    Some(value.as_str().map_or_else(|| inline(value), str::to_owned))
}
