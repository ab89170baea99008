//! The usual words for settings of scenarios.

/// Words for a setting and its values.
pub(super) struct SettingWords {
    key: &'static str,
    /// Name of the setting on an axis.
    pub(super) name: &'static str,
    /// Unit of values whose text has none.
    pub(super) unit: &'static str,
    /// A value with what it is a value of, `{}` in its place.
    phrase: &'static str,
    /// Values that have words of their own, which say all.
    values: &'static [(&'static str, &'static str)],
}

/// A setting whose values are numbers or names.
const fn of(key: &'static str, name: &'static str, phrase: &'static str) -> SettingWords {
    SettingWords { key, name, unit: "", phrase, values: &[] }
}

/// A setting whose values have words.
const fn with(key: &'static str, name: &'static str, values: &'static [(&'static str, &'static str)]) -> SettingWords {
    SettingWords { key, name, unit: "", phrase: "{}", values }
}

/// Settings without a line here are called like their keys.
const ALL: &[SettingWords] = &[
    of("scenario.duration", "duration", "{} long"),
    of("scenario.warm_up", "warm-up", "warm-up of {}"),
    of("bottleneck.rate", "rate of the bottleneck", "{}"),
    of("bottleneck.back_rate", "rate of the way back", "{} on the way back"),
    of("bottleneck.delay", "delay of the bottleneck, one way", "bottleneck delay {}"),
    of("bottleneck.hops", "number of bottlenecks", "{} bottlenecks"),
    SettingWords {
        unit: "times the bottleneck's",
        ..of("bottleneck.side_factor", "rate of the hosts' links", "hosts' links {} times as fast")
    },
    with(
        "bottleneck.queue",
        "queue discipline",
        &[
            ("drop_tail", "drop-tail"),
            ("drop_head", "drop-head"),
            ("red", "RED"),
            ("codel", "CoDel"),
            ("fq_codel", "FQ-CoDel"),
            ("pie", "PIE"),
        ],
    ),
    SettingWords { unit: "BDP", ..of("bottleneck.buffer_bdp", "buffer", "buffer of {} BDP") },
    SettingWords { unit: "packets", ..of("bottleneck.buffer_packets", "buffer", "buffer of {} packets") },
    of("bottleneck.red_weight", "RED's weight of the queue", "RED weight {}"),
    SettingWords { unit: "share of the buffer", ..of("bottleneck.red_minimum", "RED's minimum", "RED minimum {}") },
    SettingWords { unit: "share of the buffer", ..of("bottleneck.red_maximum", "RED's maximum", "RED maximum {}") },
    of("bottleneck.red_probability", "RED's maximum probability of a drop", "RED probability {}"),
    with("bottleneck.red_gentle", "gentle RED", &[("true", "gentle RED"), ("false", "RED that is not gentle")]),
    of("bottleneck.target", "target delay", "target delay {}"),
    of("bottleneck.codel_interval", "CoDel's interval", "CoDel interval {}"),
    of("bottleneck.loss", "random loss", "random loss {}"),
    of("flows.count", "number of flows", "{} flows"),
    of("flows.rtt", "RTT", "RTT {}"),
    with(
        "flows.congestion_control",
        "congestion control",
        &[("reno", "Reno"), ("cubic", "CUBIC"), ("bbr", "BBR"), ("bbr3", "BBRv3"), ("bbrv3", "BBRv3")],
    ),
    with("flows.hystart", "HyStart++", &[("true", "HyStart++"), ("false", "without HyStart++")]),
    with("flows.ecn", "ECN", &[("true", "ECN"), ("false", "without ECN")]),
    with("flows.timestamps", "timestamps", &[("true", "timestamps"), ("false", "without timestamps")]),
    with(
        "flows.recovery",
        "loss recovery",
        &[("reno", "Reno's recovery"), ("newreno", "NewReno's recovery"), ("sack", "SACK")],
    ),
    with("flows.pacing", "pacing", &[("off", "not paced"), ("rtt", "paced")]),
    SettingWords { unit: "windows per RTT", ..of("flows.pacing_gain", "pacing gain", "pacing gain {}") },
    SettingWords { unit: "packets", ..of("flows.pacing_burst", "burst of the pacer", "pacer bursts of {} packets") },
    SettingWords { unit: "segments", ..of("flows.initial_window", "initial window", "initial window {}") },
    SettingWords { unit: "segments", ..of("flows.largest_window", "largest window", "largest window {}") },
    of("flows.packet", "size of a packet", "packets of {}"),
    of("flows.acknowledgment", "size of an acknowledgment", "acknowledgments of {}"),
    of("flows.delayed_acknowledgment", "delay of acknowledgments", "acknowledgments delayed by {}"),
    of("flows.begin_within", "time within which flows begin", "all begin within {}"),
    with(
        "flows.workload",
        "workload",
        &[("long", "long flows"), ("transfers", "transfers"), ("on_off", "on and off"), ("arrivals", "arrivals")],
    ),
    SettingWords { unit: "packets", ..of("flows.transfer_segments", "length of a transfer", "{} packets") },
    of("flows.think", "mean pause between transfers", "mean pause {}"),
    of("flows.on", "mean time on", "on for {}"),
    of("flows.off", "mean time off", "off for {}"),
];

/// The words for a setting, by its key without a group; `None` for one that is called like its key.
pub(super) fn words_of(key: &str) -> Option<&'static SettingWords> {
    ALL.iter().find(|words| words.key == key)
}

impl SettingWords {
    /// The word for a value.
    pub(super) fn value(&self, text: &str) -> Option<&'static str> {
        self.values.iter().find(|(value, _)| *value == text).map(|(_, words)| *words)
    }

    /// The phrase with the value's place open. A value without words of its own follows the name of a setting whose values have some.
    pub(super) fn phrase(&self, text: &str) -> String {
        if !self.values.is_empty() && self.value(text).is_none() {
            return format!("{} {{}}", self.name);
        }
        self.phrase.to_owned()
    }
}
