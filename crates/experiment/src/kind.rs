//! What keys a kind of experiment file has.

use toml::Value;

use crate::{
    scenario,
    settings::{Draft, SETTINGS},
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
    pub(crate) check: fn(&str, &Value) -> Option<Result<(), String>>,
    /// The page that lists all keys.
    pub(crate) reference: &'static str,
}

impl Kind {
    /// Whether there is a setting of this key, whatever value it may have.
    pub(crate) fn knows(&self, key: &str) -> bool {
        (self.check)(key, &Value::Boolean(false)).is_some()
    }
}

/// Transfers between stacks.
pub(crate) static TRANSFERS: Kind = Kind {
    top: &["name", "title", "source", "seed", "unclaimed", "ranking", "matrix", "profile", "published", "expect"],
    sections: &["workload", "stack", "path", "hosts", "tap", "analysis"],
    named_section: None,
    repetitions: "workload.repetitions",
    keys: || SETTINGS.iter().map(|setting| setting.key).collect(),
    check: |key, value| Draft::default().set(key, value),
    reference: "docs/reference/experiment-file.md",
};

/// Many flows of models.
pub(crate) static SCENARIOS: Kind = Kind {
    top: &["name", "title", "source", "seed", "matrix", "profile", "expect", "figure"],
    sections: &["scenario", "bottleneck", scenario::FLOWS],
    named_section: Some(scenario::FLOWS),
    repetitions: "scenario.repetitions",
    keys: || scenario::keys().collect(),
    check: scenario::check,
    reference: "docs/reference/scenario-file.md",
};
