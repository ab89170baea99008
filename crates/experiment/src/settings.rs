//! Every setting of a transfer. A new one is a field of its section in `settings/`; everything else follows from that declaration
//! (`settings/declaration.rs`).

mod capture;
mod cpus;
mod declaration;
mod hosts;
mod identity;
mod path;
mod reference;
mod sim;
mod stack;
pub(crate) mod stages;
mod stored;
pub(crate) mod value_parser;
mod vm;
mod workload;

use std::collections::{BTreeMap, BTreeSet};

use quiclab_units::ByteCount;
use toml::{Table, Value};

pub(crate) use declaration::{Setting as Declaration, Side};
pub(crate) use identity::canonical_text;
pub use {
    capture::{Analysis, Tap},
    cpus::CpuList,
    hosts::{Hosts, Offloads, QdiscKind},
    identity::{IDENTITY_VERSION, RELEASE},
    path::{CrossControl, CrossTraffic, Forwarder, IpVersion, Path},
    reference::settings_reference,
    sim::Sim,
    stack::{Clock, DEFAULT, FirstAck, Gso, GsoRate, Http, KeyExchange, Pacing, StackSettings, Switch},
    stages::StageList,
    value_parser::Word,
    vm::{PATCHED_KERNEL, TheftDistribution, Thefts, Vm},
    workload::{Certificate, CertificateKey, FileContents, SizeOf, Workload},
};

use crate::{repetitions::Repetitions, stack::Role, value::inline};
use value_parser::{Refused, Thousandths, ValueParser as _, count};

/// The key of a path that is included. It names what path.to_client and path.to_server say, so it does not count towards the identity.
pub(crate) const INCLUDE: &str = "path.include";
/// The key of a scenario of the interop runner. As [`INCLUDE`], it names what the two lists say.
pub(crate) const SCENARIO: &str = "path.scenario";
/// A short transfer can meet a lot of cross traffic.
const LEAST_ROOM_BESIDE_CROSS_TRAFFIC: u64 = 8 << 20;
/// The test case that is nothing but a transfer.
pub(crate) const TRANSFER: &str = "transfer";
/// Sections that belong to the testbed of their name. The others hold everywhere.
const TESTBED_SECTIONS: [&str; 2] = ["vm", "sim"];

/// Every setting of a run, resolved. What each takes, and its default, stands in docs/reference/experiment-file.md.
///
/// A setting without a meaning beside the others, such as the parameters of "fq" without it, has its default, and is not stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What is transferred.
    pub workload: Workload,
    /// The stack, and how it is to behave.
    pub stack: StackSettings,
    /// The path between the hosts.
    pub path: Path,
    /// Settings of the hosts.
    pub hosts: Hosts,
    /// What is captured.
    pub tap: Tap,
    /// How the packets are read.
    pub analysis: Analysis,
    /// The virtual machine.
    pub vm: Vm,
    /// The simulator's hosts.
    pub sim: Sim,
}

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
    pub(crate) stage_changes: Vec<stages::StageChange>,
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

const REPETITIONS: &[Setting] = &[of_plan(
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

const QUEUE_BDP: &[Setting] = &[of_plan(
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

/// The keys of all settings of a file, in the order of the reference.
pub fn setting_keys() -> Vec<&'static str> {
    all().map(|setting| setting.key).collect()
}

/// The words that the setting `key` takes, such as `on` and `off`; empty where it takes anything else, or where there is no such setting.
pub fn setting_words(key: &str) -> Vec<&'static str> {
    find(key).map(|setting| (setting.words)()).unwrap_or_default()
}

/// What the setting `key` is, in a line of Markdown; `None` where there is no such setting.
pub fn setting_about(key: &str) -> Option<String> {
    find(key).map(Declaration::about)
}

/// The settings that are not at their defaults, by key; without those whose default depends on the stack.
pub fn changed_settings(settings: &Settings) -> impl Iterator<Item = (&'static str, String)> {
    let changed = |setting: &&Setting| {
        let value = (setting.value)(settings);
        setting.default_said.is_none()
            && value.is_some()
            && value != (setting.default)()
            && !(setting.is_implied)(settings)
    };
    all().filter(changed).filter_map(|setting| Some((setting.key, setting.text(settings)?)))
}

/// The settings that not every testbed has, and that are not at their defaults: key, and the testbeds that have it, with ", " between them.
/// Every other testbed refuses such a run.
pub fn testbed_only(settings: &Settings) -> impl Iterator<Item = (&'static str, &'static str)> {
    all().filter_map(|setting| Some((setting.key, setting.needed_testbed(settings)?)))
}

/// What is wrong with settings on `testbed`: the first that only another one has. `None` where all is well.
pub fn foreign_setting(settings: &Settings, testbed: &str) -> Option<String> {
    let (key, needed) = testbed_only(settings).find(|(_, needed)| needed.split(", ").all(|one| one != testbed))?;
    let first = needed.split(", ").next().unwrap_or(needed);
    let found = find(key).and_then(|setting| setting.text(settings)).unwrap_or_default();
    Some(format!(
        "{key}: found {found:?}, which the testbed {testbed} does not have; expected the default\nhint: --testbed {first}"
    ))
}

impl<D, S> Declaration<D, S> {
    /// Its section.
    pub(crate) fn section(&self) -> &'static str {
        self.key.split('.').next().unwrap_or_default()
    }

    /// What it is, on one line.
    pub(crate) fn about(&self) -> String {
        self.what.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
    }

    /// The only testbeds that have it, with ", " between them; `None` for one that holds everywhere.
    pub(crate) fn testbed(&self) -> Option<&'static str> {
        self.only_on.or_else(|| TESTBED_SECTIONS.into_iter().find(|testbed| *testbed == self.section()))
    }

    /// The only testbeds that can do what the value asks for.
    fn needed_testbed(&self, settings: &S) -> Option<&'static str> {
        let value = (self.value)(settings)?;
        if Some(&value) == (self.default)().as_ref() {
            return None;
        }
        let text = text_of(&value);
        let of_value = self.values_on.iter().find(|(own, _)| *own == text).map(|(_, testbed)| *testbed);
        self.testbed().or(of_value)
    }

    /// The value as a file would have it, without quotes; quantities in their largest whole unit.
    pub(crate) fn text(&self, settings: &S) -> Option<String> {
        (self.value)(settings).as_ref().map(text_of)
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| inline(value), str::to_owned)
}

impl Draft {
    /// Puts `value` in at `key`. `None` where there is no such key; an error says what was found and expected.
    pub(crate) fn set(&mut self, key: &str, value: &Value) -> Option<Result<(), Refused>> {
        if let Some(change) = stages::StageChange::of(key, value) {
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

impl Settings {
    /// The transfer that the taps must have room for. Beside cross traffic, of which they keep headers, it is twice as large.
    pub fn tap_room(&self) -> ByteCount {
        let of_transfer = match self.path.cross_traffic {
            CrossTraffic::None => self.workload.bytes_both_ways().as_bytes(),
            _ => (self.workload.bytes_both_ways().as_bytes().saturating_mul(2)).max(LEAST_ROOM_BESIDE_CROSS_TRAFFIC),
        };
        ByteCount::from_bytes(of_transfer.max(self.tap.room.unwrap_or_default().as_bytes()))
    }

    /// The variables by which settings reach the endpoint of this role (docs/reference/endpoint-contract.md).
    pub fn environment(&self, role: Role) -> BTreeMap<String, String> {
        let is_server = role == Role::Server;
        let is_of = |side: Side| match side {
            Side::Both => true,
            Side::Sender => is_server || self.stack.client == self.stack.server,
            Side::Server => is_server,
            Side::Client => !is_server,
        };
        let variable = |setting: &Setting| {
            let variable = setting.variable?;
            let text = setting.text(self)?;
            let is_set = variable.except != Some(text.as_str()) && is_of(variable.of);
            let value = if text == "true" { "on".to_owned() } else { text };
            is_set.then(|| (variable.name.to_owned(), value))
        };
        all().filter_map(variable).collect()
    }

    /// The clock of the queueing discipline `gso_pace` (kernel/module), which takes buffers of several packets apart and gives each packet
    /// its
    /// send time: what `stack.gso = "paced"` needs of a kernel that cannot do it by itself. `None`: it is not there.
    pub fn segment_pacing(&self) -> Option<Clock> {
        self.stack.txtime_clock.filter(|_| self.stack.gso_rate == Some(GsoRate::Mark))
    }

    /// True where the guest's kernel needs the modules of kernel/module.
    pub fn needs_modules(&self) -> bool {
        self.segment_pacing().is_some() || self.vm.thefts().is_some()
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
        let are_testbeds = |names: &str| names.split(", ").all(|name| ["vm", "netns", "hosts", "sim"].contains(&name));
        for setting in all() {
            for (word, testbed) in setting.values_on {
                assert!((setting.words)().contains(word), "{}: {word}", setting.key);
                assert!(are_testbeds(testbed), "{}: {testbed}", setting.key);
            }
            assert!(setting.only_on.is_none_or(are_testbeds), "{}", setting.key);
        }
    }
}
