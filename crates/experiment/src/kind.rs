//! What keys a kind of experiment file has.

use toml::Value;

use crate::scenario::declaration::FLOWS;
use crate::scenario::settings::{check, keys};
use crate::settings::{
    draft::{Draft, all, find},
    setting_keys,
    value_parser::Refused,
};

/// One kind of file.
pub(crate) struct Kind {
    /// Keys at the top that are no settings.
    pub(crate) top: &'static [&'static str],
    /// Sections that hold settings.
    pub(crate) sections: &'static [&'static str],
    /// The section of these in which a table has a name that the file chooses, and holds the same keys.
    pub(crate) named_section: Option<&'static str>,
    /// The setting that says how often everything is repeated, which no single run has.
    pub(crate) repetitions: &'static str,
    /// Dotted keys of all settings.
    pub(crate) keys: fn() -> Vec<&'static str>,
    /// Whether a setting may have a value: `None` where there is no such setting; the error says what is expected instead.
    pub(crate) check: fn(&str, &Value) -> Option<Result<(), Refused>>,
    /// The key that a setting has now, of one that it had in an earlier version.
    pub(crate) present: fn(&str) -> Option<&'static str>,
    /// Keys of earlier versions.
    pub(crate) former_keys: fn() -> Vec<&'static str>,
    /// What to write instead of a key that other tools have, as a hint; `None` where it is no such key.
    pub(crate) foreign_key: fn(&str) -> Option<&'static str>,
    /// Whether runs have series over time, and groups of flows, which figures can show.
    pub(crate) has_series: bool,
    /// The page that lists all keys.
    pub(crate) reference: &'static str,
}

impl Kind {
    /// The key as it is now.
    pub(crate) fn present_key<'k>(&self, key: &'k str) -> &'k str {
        (self.present)(key).unwrap_or(key)
    }

    /// Whether there is a setting of this key, whatever value it may have.
    pub(crate) fn knows(&self, key: &str) -> bool {
        (self.check)(key, &Value::Boolean(false)).is_some()
    }
}

/// What to write instead of the words that networks are usually described with.
fn foreign_key(key: &str) -> Option<&'static str> {
    let (section, own) = key.rsplit_once('.').unwrap_or(("", key));
    Some(match (section, own) {
        ("path" | "", "rtt" | "delay" | "latency") => {
            "a path has a delay in each direction: path.delay_to_client and path.delay_to_server, together the round-trip time"
        }
        ("path" | "", "bandwidth" | "capacity" | "bw" | "speed") => "did you mean path.rate?",
        ("path" | "", "buffer" | "queue" | "queue_limit" | "queue_size") => {
            "did you mean path.queue_bdp (in bandwidth-delay products), or path.queue_limit_packets?"
        }
        ("path" | "", "loss" | "loss_rate" | "drop_rate" | "plr") => {
            "loss is a stage of the path. In a line, with 1 % towards the client: path.scenario = \"drop-rate --delay=20ms \
             --bandwidth=40Mbps --queue=100 --rate_to_client=1 --rate_to_server=0\"; docs/reference/path.md has every model of loss"
        }
        ("path" | "", "jitter") => "jitter is a stage of the path; docs/reference/path.md lists the stages",
        ("stack" | "", "cca" | "cc" | "congestion" | "cc_algorithm") => "did you mean stack.congestion_control?",
        ("workload" | "", "bytes" | "file_size" | "filesize") => "did you mean workload.size?",
        ("workload" | "", "reps" | "runs" | "iterations") => "did you mean workload.repetitions?",
        _ => return None,
    })
}

/// Transfers between stacks.
pub(crate) static TRANSFERS: Kind = Kind {
    top: &[
        "name",
        "title",
        "source",
        "seed",
        "unclaimed",
        "ranking",
        "matrix",
        "profile",
        "published",
        "expect",
        "figure",
    ],
    sections: &["workload", "stack", "path", "hosts", "tap", "analysis", "vm", "sim"],
    named_section: None,
    repetitions: "workload.repetitions",
    keys: setting_keys,
    check: |key, value| Draft::default().set(key, value),
    present: |key| find(key).map(|setting| setting.key),
    former_keys: || all().flat_map(|setting| setting.formerly).copied().collect(),
    foreign_key,
    has_series: false,
    reference: "docs/reference/experiment-file.md",
};

/// Many flows of models.
pub(crate) static SCENARIOS: Kind = Kind {
    top: &["name", "title", "source", "seed", "matrix", "profile", "expect", "figure", "labels"],
    sections: &["scenario", "bottleneck", FLOWS],
    named_section: Some(FLOWS),
    repetitions: "scenario.repetitions",
    keys: || keys().collect(),
    check: |key, value| check(key, value).map(|result| result.map_err(Refused::from)),
    present: |_| None,
    former_keys: Vec::new,
    foreign_key: |_| None,
    has_series: true,
    reference: "docs/reference/scenario-file.md",
};
