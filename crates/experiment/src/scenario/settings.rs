//! Every setting of a scenario: its key, what it takes, its default. A new one is a line in a list.

use std::collections::BTreeMap;

use quiclab_units::{Duration, Rate};
use serde::{Deserialize, Serialize};
use toml::Value;

use crate::reading::{
    below_one, count, delay, events, fraction, or_default, or_none, positive, positive_number, put, truth, word,
};

use super::{
    declaration::{Setting, of_flows, set},
    flows::{self, Flows},
};

/// Every setting of a run. What each takes, and its default, stands in docs/reference/scenario-file.md.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioSettings {
    /// How long a run lasts, and how it is measured.
    pub scenario: Course,
    /// What the flows share.
    pub bottleneck: Bottleneck,
    /// The groups of flows, by their name.
    pub flows: BTreeMap<String, Flows>,
}

/// How long a run lasts, and how it is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Course {
    /// Simulated time that a run lasts.
    #[serde(with = "crate::quantity")]
    pub duration: Duration,
    /// The duration in saw-tooths of a single flow ([`ScenarioSettings`] has the formula's settings); `None` where it was given as a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_sawtooths: Option<f64>,
    /// Length of an interval, for series and for the metrics of intervals.
    #[serde(with = "crate::quantity")]
    pub interval: Duration,
    /// Time at the beginning that metrics leave out.
    #[serde(with = "crate::quantity")]
    pub warm_up: Duration,
    /// Time by which a transfer must begin to be counted; `None` counts all that begin after the warm-up.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub transfers_begin_by: Option<Duration>,
    /// Number of events after which a run is given up.
    pub events: u64,
    /// Time of this machine's clock after which a run is given up.
    #[serde(with = "crate::quantity")]
    pub time_limit: Duration,
}

/// Links between routers in a row, all alike, and what stands before each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bottleneck {
    /// Rate from the senders to the receivers.
    #[serde(with = "crate::quantity")]
    pub rate: Rate,
    /// Rate from the receivers to the senders.
    #[serde(with = "crate::quantity")]
    pub back_rate: Rate,
    /// One-way delay of each link.
    #[serde(with = "crate::quantity")]
    pub delay: Duration,
    /// Number of links.
    pub hops: u32,
    /// The rate of the hosts' own links is so many times [`Bottleneck::rate`].
    pub side_factor: f64,
    /// Probability with which each packet is lost in front of the queue.
    #[serde(default)]
    pub loss: f64,
    /// What decides about packets that wait.
    pub queue: QueueKind,
    /// Room in bandwidth-delay products of the mean round-trip time; `None` where it was given in packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_bdp: Option<f64>,
    /// Room in packets.
    pub buffer_packets: u64,
    /// Weight of the queue's length in RED's average.
    pub red_weight: f64,
    /// Share of the room from which RED drops.
    pub red_minimum: f64,
    /// Share of the room from which RED drops all.
    pub red_maximum: f64,
    /// Probability of a drop just below the maximum.
    pub red_probability: f64,
    /// Whether the probability rises above the maximum instead of jumping.
    pub red_gentle: bool,
    /// The delay that CoDel and FQ-CoDel accept, and that PIE aims at.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Duration>,
    /// How long CoDel and FQ-CoDel accept more.
    #[serde(with = "crate::quantity")]
    pub codel_interval: Duration,
}

/// A queueing discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueKind {
    /// What does not fit is dropped.
    DropTail,
    /// The oldest makes room.
    DropHead,
    /// Random Early Detection.
    Red,
    /// RFC 8289.
    Codel,
    /// RFC 8290.
    FqCodel,
    /// RFC 8033.
    Pie,
}

/// Settings that are not resolved yet.
///
/// The defaults of the path are those of Aggarwal, Savage and Anderson (INFOCOM 2000) with today's packets.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) duration: Option<Duration>,
    pub(super) duration_sawtooths: Option<f64>,
    pub(super) interval: Option<Duration>,
    pub(super) warm_up: Duration,
    pub(super) transfers_begin_by: Option<Duration>,
    pub(super) repetitions: u32,
    pub(super) events: u64,
    pub(super) time_limit: Duration,
    pub(super) bottleneck: Bottleneck,
    pub(super) back_rate: Option<Rate>,
    pub(super) buffer_packets: Option<u32>,
}

/// What a buffer holds where nobody says, in bandwidth-delay products.
pub(super) const USUAL_BUFFER: f64 = 1.0;
/// How long a run lasts where nobody says.
pub(super) const USUAL_DURATION: Duration = Duration::from_secs(60);
/// How many intervals a run has where nobody says.
const USUAL_INTERVALS: u64 = 100;

/// The length of an interval where nobody says.
pub(super) fn usual_interval(duration: Duration) -> Duration {
    Duration::from_nanos((duration.as_nanos() / USUAL_INTERVALS).max(1))
}

impl Default for Draft {
    fn default() -> Self {
        let rate = Rate::from_bits_per_second(57_000_000);
        Self {
            duration: None,
            duration_sawtooths: None,
            interval: None,
            warm_up: Duration::ZERO,
            transfers_begin_by: None,
            repetitions: 1,
            events: 10_000_000_000,
            time_limit: Duration::from_secs(3600),
            bottleneck: Bottleneck {
                rate,
                back_rate: rate,
                delay: Duration::from_millis(40),
                hops: 1,
                side_factor: 4.0,
                loss: 0.0,
                queue: QueueKind::DropTail,
                buffer_bdp: None,
                buffer_packets: 0,
                red_weight: 0.002,
                red_minimum: 0.25,
                red_maximum: 0.75,
                red_probability: 0.1,
                red_gentle: false,
                target: None,
                codel_interval: Duration::from_millis(100),
            },
            back_rate: None,
            buffer_packets: None,
        }
    }
}

/// The settings of everything but the flows, in the order of the reference.
pub(super) const SETTINGS: &[Setting<Draft>] = &[
    ("scenario.duration", |draft, value| put(&mut draft.duration, Some(positive(value)?))),
    ("scenario.duration_sawtooths", |draft, value| put(&mut draft.duration_sawtooths, Some(positive_number(value)?))),
    ("scenario.interval", |draft, value| put(&mut draft.interval, Some(positive(value)?))),
    ("scenario.warm_up", |draft, value| put(&mut draft.warm_up, delay(value)?)),
    ("scenario.transfers_begin_by", |draft, value| put(&mut draft.transfers_begin_by, or_none(value, positive)?)),
    ("scenario.repetitions", |draft, value| put(&mut draft.repetitions, count(value)?)),
    ("scenario.events", |draft, value| put(&mut draft.events, events(value)?)),
    ("scenario.time_limit", |draft, value| put(&mut draft.time_limit, positive(value)?)),
    ("bottleneck.rate", |draft, value| put(&mut draft.bottleneck.rate, positive(value)?)),
    ("bottleneck.back_rate", |draft, value| put(&mut draft.back_rate, Some(positive(value)?))),
    ("bottleneck.delay", |draft, value| put(&mut draft.bottleneck.delay, delay(value)?)),
    ("bottleneck.hops", |draft, value| put(&mut draft.bottleneck.hops, count(value)?)),
    ("bottleneck.side_factor", |draft, value| put(&mut draft.bottleneck.side_factor, positive_number(value)?)),
    ("bottleneck.loss", |draft, value| put(&mut draft.bottleneck.loss, below_one(value)?)),
    ("bottleneck.queue", |draft, value| {
        const KINDS: &str = "\"drop_tail\", \"drop_head\", \"red\", \"codel\", \"fq_codel\" or \"pie\"";
        put(&mut draft.bottleneck.queue, word(value, KINDS)?)
    }),
    ("bottleneck.buffer_bdp", |draft, value| put(&mut draft.bottleneck.buffer_bdp, Some(positive_number(value)?))),
    ("bottleneck.buffer_packets", |draft, value| put(&mut draft.buffer_packets, Some(count(value)?))),
    ("bottleneck.red_weight", |draft, value| put(&mut draft.bottleneck.red_weight, fraction(value)?)),
    ("bottleneck.red_minimum", |draft, value| put(&mut draft.bottleneck.red_minimum, fraction(value)?)),
    ("bottleneck.red_maximum", |draft, value| put(&mut draft.bottleneck.red_maximum, fraction(value)?)),
    ("bottleneck.red_probability", |draft, value| put(&mut draft.bottleneck.red_probability, fraction(value)?)),
    ("bottleneck.red_gentle", |draft, value| put(&mut draft.bottleneck.red_gentle, truth(value)?)),
    ("bottleneck.target", |draft, value| put(&mut draft.bottleneck.target, or_default(value, positive)?)),
    ("bottleneck.codel_interval", |draft, value| put(&mut draft.bottleneck.codel_interval, positive(value)?)),
];

/// The keys of all settings, those of flows without the name of a group.
pub(crate) fn keys() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|setting| setting.0).chain(flows::SETTINGS.iter().map(|setting| setting.0))
}

/// Whether a setting may have a value; `None` where there is no such setting.
pub(crate) fn check(key: &str, value: &Value) -> Option<Result<(), String>> {
    match of_flows(key) {
        Some((_, key)) => set(flows::SETTINGS, &mut Flows::default(), &key, value),
        None => set(SETTINGS, &mut Draft::default(), key, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: &str = include_str!("../../../../docs/reference/scenario-file.md");

    /// The rows of the reference's table of settings, as key and default.
    fn documented() -> Vec<(&'static str, &'static str)> {
        let table = REFERENCE.split("\n## Settings").nth(1).unwrap().split("\n## ").next().unwrap();
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        rows.map(|(key, row)| (key, row.trim_end_matches(" |").rsplit("| ").next().unwrap())).collect()
    }

    #[test]
    fn the_reference_has_every_setting_in_order_with_its_default() {
        let documented = documented();
        assert_eq!(documented.iter().map(|row| row.0).collect::<Vec<_>>(), keys().collect::<Vec<_>>());
        for (key, default) in documented {
            let Some(text) = default.strip_prefix('`').and_then(|text| text.strip_suffix('`')) else {
                let open = ["interval", "duration", "sawtooths", "bdp", "packets"];
                assert!(open.iter().any(|word| key.ends_with(word)), "{key} has no default");
                continue;
            };
            if key == "bottleneck.back_rate" {
                assert_eq!(text, "bottleneck.rate");
                continue;
            }
            let value = toml::from_str::<toml::Table>(&format!("x = {text}")).unwrap().remove("x").unwrap();
            let (mut draft, mut flows) = (Draft::default(), Flows::default());
            let set = set(SETTINGS, &mut draft, key, &value).or_else(|| set(flows::SETTINGS, &mut flows, key, &value));
            set.unwrap().unwrap();
            assert_eq!(format!("{draft:?}"), format!("{:?}", Draft::default()), "{key}");
            assert_eq!(flows, Flows::default(), "{key}");
        }
    }
}
