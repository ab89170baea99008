//! Every setting of a transfer. A new one is a field of its section in `settings/`; everything else follows from that declaration
//! (`settings/declaration.rs`).

mod capture;
mod cpus;
pub(crate) mod declaration;
pub(crate) mod draft;
mod hosts;
pub(crate) mod one_stage;
pub(crate) mod path;
mod reference;
mod resolved;
mod sim;
pub(crate) mod stack;
pub(crate) mod stages;
mod stored;
pub(crate) mod value_parser;
mod vm;
pub(crate) mod workload;

use std::collections::BTreeMap;

pub use {
    capture::{Analysis, Tap},
    cpus::CpuList,
    hosts::{Cpu, Hosts, Offloads, QdiscKind},
    path::{CrossControl, CrossTraffic, Forwarder, IpVersion, Path},
    reference::settings_reference,
    resolved::Settings,
    sim::Sim,
    stack::{Clock, DEFAULT, FirstAck, Gso, GsoRate, Http, KeyExchange, Pacing, StackSettings, Switch},
    stages::StageList,
    value_parser::Word,
    vm::{PATCHED_KERNEL, TheftDistribution, Thefts, Vm},
    workload::{Certificate, CertificateKey, FileContents, Sender, SizeOf, Workload},
};

use crate::{stack::Role, testbed_name::TestbedName};
use declaration::{Declaration, Side};
use draft::{Setting, all, find};

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

/// The settings that not every testbed has, and that are not at their defaults: key, and the testbeds that have it.
/// Every other testbed refuses such a run.
pub fn testbed_only(settings: &Settings) -> impl Iterator<Item = (&'static str, &'static [TestbedName])> {
    all().filter_map(|setting| Some((setting.key, setting.needed_testbeds(settings)?)))
}

/// What is wrong with settings on `testbed`: the first that only another one has. `None` where all is well.
pub fn foreign_setting(settings: &Settings, testbed: &str) -> Option<String> {
    let (key, needed) = testbed_only(settings).find(|(_, needed)| needed.iter().all(|one| one.as_str() != testbed))?;
    let first = needed[0];
    let found = find(key).and_then(|setting| setting.text(settings)).unwrap_or_default();
    Some(format!(
        "{key}: found {found:?}, which the testbed {testbed} does not have; expected the default\nhint: --testbed {first}"
    ))
}

impl Settings {
    /// The variables by which settings reach the endpoint of this role (docs/reference/endpoint-contract.md).
    pub fn environment(&self, role: Role) -> BTreeMap<String, String> {
        let is_server = role == Role::Server;
        let is_sender = role == self.workload.sender.role();
        let is_of = |side: Side| match side {
            Side::Both => true,
            Side::Sender => is_sender || self.stack.client == self.stack.server,
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
}
