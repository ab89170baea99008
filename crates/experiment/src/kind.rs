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
    has_series: true,
    reference: "docs/reference/scenario-file.md",
};
