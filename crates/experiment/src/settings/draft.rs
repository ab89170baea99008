//! Settings that are not resolved yet, and the list of all that there are.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::{
    capture::{Analysis, Tap},
    declaration::{Contains, Declaration, Section as _},
    hosts::Hosts,
    one_stage::StageChange,
    path::Path,
    resolved::Settings,
    sim::Sim,
    stack::StackSettings,
    stages::{INCLUDE, SCENARIO},
    value_parser::{Refused, Thousandths, ValueParser as _, count},
    vm::Vm,
    workload::Workload,
};
use crate::repetitions::Repetitions;

/// Settings that are not resolved yet.
///
/// The defaults are the published bottleneck of QUIC Steps (CoNEXT 2025, section 3): 40 Mbit/s, 2 x 20 ms, a token
/// bucket of 1535 bytes, 143 packets in delay line and queue together, UDP receive buffers of 50 MiB.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Draft {
    pub(crate) settings: Settings,
    pub(crate) repetitions: Repetitions,
    /// What the queue holds beside the delay line, in thousandths of a bandwidth-delay product.
    pub(crate) queue_thousandths: Option<u32>,
    /// Keys of the settings that were set. The others may be left to the stack's manifest.
    given: BTreeSet<&'static str>,
    /// Settings of single stages of the path, to be changed once its lists are known.
    pub(crate) stage_changes: Vec<StageChange>,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            repetitions: Repetitions::Fixed(1),
            queue_thousandths: None,
            given: BTreeSet::new(),
            stage_changes: Vec::new(),
        }
    }
}

impl<T> Contains<T> for Draft
where
    Settings: Contains<T>,
{
    fn section(&self) -> &T {
        self.settings.section()
    }

    fn section_mut(&mut self) -> &mut T {
        self.settings.section_mut()
    }
}

/// A setting of a transfer.
pub(crate) type Setting = Declaration<Draft, Settings>;

/// A setting of the plan, which no single run has.
const fn of_plan(
    key: &'static str,
    what: &'static [&'static str],
    takes: fn() -> String,
    default: fn() -> Option<Value>,
    read: fn(&mut Draft, &Value) -> Result<(), Refused>,
    reset: fn(&mut Draft),
) -> Setting {
    Setting {
        key,
        what,
        takes,
        default,
        read,
        reset,
        formerly: &[],
        words: Vec::new,
        default_said: None,
        neutral: None,
        only_on: None,
        values_on: &[],
        variable: None,
        value: |_| None,
        is_implied: |_| false,
    }
}

pub(super) const REPETITIONS: &[Setting] = &[of_plan(
    "workload.repetitions",
    &[
        "number of runs of each combination, each with a different seed; or [until a metric is known well enough](#repeating-until-a-metric-is-known)",
    ],
    Repetitions::describe,
    || count().write(&1),
    |draft, value| {
        draft.repetitions = Repetitions::read(value)?;
        Ok(())
    },
    |draft| draft.repetitions = Repetitions::Fixed(1),
)];

pub(super) const QUEUE_BDP: &[Setting] = &[of_plan(
    "path.queue_bdp",
    &[
        "size of the queue without the delay line, in bandwidth-delay products of `path.rate` and both delays, in frames of 1392 B; sets `path.queue_limit_packets`, whose default corresponds to 0.5",
    ],
    || Thousandths.or("none").describe(),
    || Thousandths.or("none").write(&None),
    |draft, value| {
        draft.queue_thousandths = Thousandths.or("none").read(value)?;
        Ok(())
    },
    |draft| draft.queue_thousandths = None,
)];

/// All settings, section by section, in the order of the reference.
pub(crate) fn all() -> impl Iterator<Item = &'static Setting> + Clone {
    const ALL: [&[Setting]; 10] = [
        Workload::SETTINGS,
        REPETITIONS,
        StackSettings::SETTINGS,
        Path::SETTINGS,
        QUEUE_BDP,
        Hosts::SETTINGS,
        Tap::SETTINGS,
        Analysis::SETTINGS,
        Vm::SETTINGS,
        Sim::SETTINGS,
    ];
    ALL.into_iter().flatten()
}

/// The setting of this key, or one that had it in an earlier version.
pub(crate) fn find(key: &str) -> Option<&'static Setting> {
    all().find(|setting| setting.key == key).or_else(|| all().find(|setting| setting.formerly.contains(&key)))
}

impl Draft {
    /// Puts `value` in at `key`. `None` where there is no such key; an error says what was found and expected.
    pub(crate) fn set(&mut self, key: &str, value: &Value) -> Option<Result<(), Refused>> {
        if let Some(change) = StageChange::of(key, value) {
            return Some(change.map(|change| self.stage_changes.push(change)));
        }
        let setting = find(key)?;
        if let (INCLUDE | SCENARIO, Value::Table(contents)) = (key, value) {
            return Some(self.include(setting.key, contents));
        }
        self.given.insert(setting.key);
        Some((setting.read)(self, value))
    }

    /// Puts in what an included file, or a scenario, says.
    fn include(&mut self, source: &'static str, contents: &Table) -> Result<(), Refused> {
        self.given.insert(source);
        for (key, value) in contents {
            let key = find(&format!("path.{key}")).ok_or_else(|| Refused::from(format!("{key}: unknown key")))?;
            (key.read)(self, value)?;
        }
        Ok(())
    }

    /// True where `key` was set.
    pub(crate) fn is_given(&self, key: &str) -> bool {
        self.given.contains(key)
    }

    /// The settings, where those without a meaning have their defaults.
    pub(crate) fn into_settings(mut self) -> Settings {
        for setting in all() {
            if (setting.value)(&self.settings).is_none() {
                (setting.reset)(&mut self);
            }
        }
        self.settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unlike_each_other_without_their_sections() {
        let mut names: Vec<_> = all().filter_map(|setting| setting.key.rsplit('.').next()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "labels of runs tell settings by these names");
    }

    #[test]
    fn no_key_present_or_former_belongs_to_two_settings() {
        let mut keys: Vec<_> = all().flat_map(|setting| setting.formerly.iter().chain([&setting.key])).collect();
        keys.sort_unstable();
        let count = keys.len();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn every_default_and_every_neutral_value_is_one_that_the_setting_takes() {
        for setting in all() {
            for value in [(setting.default)(), setting.neutral.and_then(|neutral| neutral())].into_iter().flatten() {
                // A stack has no name by default.
                if value.as_str() == Some("") {
                    continue;
                }
                let mut draft = Draft::default();
                assert_eq!((setting.read)(&mut draft, &value), Ok(()), "{}", setting.key);
            }
        }
    }

    #[test]
    fn a_default_that_is_read_changes_nothing() {
        for setting in all() {
            let mut draft = Draft::default();
            (setting.reset)(&mut draft);
            assert_eq!(draft, Draft::default(), "{}", setting.key);
            if let Some(value) = (setting.default)() {
                (setting.read)(&mut draft, &value).unwrap();
                assert_eq!(draft, Draft::default(), "{}", setting.key);
            }
        }
    }

    #[test]
    fn a_value_of_some_testbeds_is_a_value() {
        for setting in all() {
            for (word, _) in setting.values_on {
                assert!((setting.words)().contains(word), "{}: {word}", setting.key);
            }
        }
    }
}
