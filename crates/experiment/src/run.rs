//! One run, fully resolved: no default is left open.

pub(crate) mod identity;

use std::collections::BTreeMap;

use quiclab_units::Duration;
use serde::{Deserialize, Serialize};

use crate::folder_names;
pub use crate::hosts::{FairQueueing, Qdisc};
pub use crate::settings::{
    Analysis, Certificate, CertificateKey, Clock, Cpu, CpuList, CrossControl, CrossTraffic, DEFAULT, FileContents,
    FirstAck, Forwarder, Gso, GsoRate, Hosts, Http, IpVersion, KeyExchange, Offloads, Pacing, Path, QdiscKind, Sender,
    Settings, Sim, SizeOf, StackSettings, StageList, Switch, Tap, TheftDistribution, Thefts, Vm, Word, Workload,
};

/// One transfer on one testbed, with every setting that can change its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Name of the experiment this run belongs to, for example `quic-steps/baseline`.
    pub experiment: String,
    /// The number of the repetition, from 1. Repetitions differ by their seed only.
    pub repetition: u32,
    /// The number from which everything random in the run is derived. 0 to about 10^15.
    pub seed: u64,
    /// Time by which the start of the transfer is delayed: drawn from the seed, from 0 to just below 100 ms.
    #[serde(with = "crate::quantity")]
    pub start_shift: Duration,
    /// The settings.
    pub settings: Settings,
    /// What tells its settings from those of the other runs of its experiment, such as `cubic-gso_on`; for the name of its folder.
    /// Empty where there is nothing to tell, and in a run that was read from a record.
    #[serde(skip)]
    pub label: String,
}

/// What a run was made with, from the testbed: name to identity (a hash or a version), such as `qemu` to `7.2`. Part of the
/// run's identity.
pub type Versions = BTreeMap<String, String>;

/// The clock of a run, in its versions; where it is not there, time is virtual, and the same run gives the same bytes again.
pub const CLOCK_VERSION: &str = "clock";
/// The clock of runs in real time. A record of such a run is a sample.
pub const WALL_CLOCK: &str = "wall";

/// Whether a record made with these versions is a sample: made in real time, so that repeating its run gives other bytes.
pub fn is_sample(versions: &Versions) -> bool {
    versions.get(CLOCK_VERSION).is_some_and(|clock| clock == WALL_CLOCK)
}

impl Run {
    /// The run as TOML, as it stands in a record.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("every field of a run has a TOML form")
    }

    /// A run from what [`Run::to_toml`] wrote.
    ///
    /// # Errors
    /// Where the text is something else: no TOML, a key missing or unknown, a quantity without its unit.
    pub fn from_toml(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Name of the run's record: stack, label, repetition with at least two digits, identity, such as
    /// `quiche-cubic-gso_on-01-0123456789abcdef`. All but the identity is for people: another experiment, or an earlier version of
    /// quiclab, may give the same run another label, so a record is looked for by the identity.
    pub fn folder_name(&self, versions: &Versions) -> String {
        let stack = folder_names::of_stack(&self.settings.stack.name);
        folder_names::of_run(&stack, &self.label, self.repetition, &self.id(versions))
    }
}

/// A value as it is written in files.
pub fn word<T: Serialize>(value: &T) -> String {
    toml::Value::try_from(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
