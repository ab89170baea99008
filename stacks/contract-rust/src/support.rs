//! What a stack can do, and what it answers to everything else.

use std::{collections::BTreeMap, str::FromStr};

use crate::{
    FAILED, NOT_SUPPORTED,
    perf::Load,
    settings::Settings,
    values::{Clock, Gso, GsoRate, Http, IpVersion, Named, Pacing, TestCase},
};

/// What a stack can do. The first value of a list is what it does by itself, where the variable is not set.
pub struct Support<C: 'static> {
    /// The test cases of a server.
    pub server: &'static [TestCase],
    /// The test cases of a client.
    pub client: &'static [TestCase],
    /// How files can be asked for.
    pub http: &'static [Http],
    /// Congestion controls by the name `QUICLAB_CCA` has for them, and what the stack calls them.
    pub congestion_control: &'static [(&'static str, C)],
    /// Ways of segmentation offload.
    pub gso: &'static [Gso],
    /// Who can space the packets.
    pub pacing: &'static [Pacing],
    /// Families of addresses.
    pub ip: &'static [IpVersion],
    /// True: a server's certificate may come late.
    pub certificate_delay: bool,
    /// What few stacks can be told.
    pub extras: Extras,
    /// Looks at the whole: refuses values that do not go together, chooses what depends on other values. [`no_rules`]
    /// where there is nothing of that kind.
    pub rules: fn(&mut Settings<C>, &Asked) -> Result<(), SettingsError>,
}

/// What few stacks can be told about how they send.
pub struct Extras {
    /// True: the number of packets in one system call can be limited.
    pub gso_segments: bool,
    /// How it can tell the kernel a rate; nothing where it does not do [`Gso::Paced`].
    pub gso_rates: &'static [GsoRate],
    /// The clocks it can hand over send times on.
    pub txtime_clocks: &'static [Clock],
    /// True: HyStart++ can be switched on and off.
    pub hystart: bool,
    /// What its client can do in [`TestCase::Perf`].
    pub perf_loads: &'static [Load],
}

impl Extras {
    /// None of it.
    pub const NONE: Self = Self {
        gso_segments: false,
        gso_rates: &[],
        txtime_clocks: &[Clock::Monotonic],
        hystart: false,
        perf_loads: &[Load::Bulk],
    };
}

/// No values exclude each other, but those that do so by the contract.
///
/// # Errors
/// None.
pub fn no_rules<C>(_: &mut Settings<C>, _: &Asked) -> Result<(), SettingsError> {
    Ok(())
}

/// Why the settings were refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Well-formed, but not something this endpoint can do.
    #[error("{variable}: found {found:?}, this endpoint supports {supported}")]
    NotSupported {
        /// Name of the variable.
        variable: String,
        /// Its value, empty where it is not set.
        found: String,
        /// What it may be.
        supported: String,
    },
    /// Not well-formed.
    #[error("{variable}: found {found:?}, expected {expected}")]
    Invalid {
        /// Name of the variable.
        variable: &'static str,
        /// Its value or the part of it that is wrong.
        found: String,
        /// What it should look like.
        expected: &'static str,
    },
}

impl SettingsError {
    /// What the endpoint ends with.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::NotSupported { .. } => NOT_SUPPORTED,
            Self::Invalid { .. } => FAILED,
        }
    }
}

/// The variables with the prefix `QUICLAB_` that the contract has. Any other one is a setting that would be ignored.
const KNOWN: [&str; 21] = [
    "QUICLAB_CCA",
    "QUICLAB_CERT_DELAY",
    "QUICLAB_GSO",
    "QUICLAB_GSO_RATE",
    "QUICLAB_GSO_SEGMENTS",
    "QUICLAB_HTTP",
    "QUICLAB_HYSTART",
    "QUICLAB_IP",
    "QUICLAB_PACING",
    "QUICLAB_PERF_DURATION",
    "QUICLAB_PERF_INTERVAL",
    "QUICLAB_PERF_LATENCIES",
    "QUICLAB_PERF_LOAD",
    "QUICLAB_PERF_PERIOD",
    "QUICLAB_PERF_PROGRESS",
    "QUICLAB_PERF_REQUEST",
    "QUICLAB_PERF_RESPONSE",
    "QUICLAB_PORT",
    "QUICLAB_STREAMS",
    "QUICLAB_TXTIME_CLOCK",
    "QUICLAB_TXTIME_DEADLINE",
];

/// What was asked for: the environment.
pub struct Asked(BTreeMap<String, String>);

impl Asked {
    /// Takes the environment, unless it has settings that nothing would look at.
    pub(crate) fn new(variables: impl IntoIterator<Item = (String, String)>) -> Result<Self, SettingsError> {
        let asked = Self(variables.into_iter().collect());
        for name in asked.0.keys() {
            if name.starts_with("QUICLAB_") && !KNOWN.contains(&name.as_str()) {
                return Err(asked.refusal(name, "no such setting"));
            }
        }
        for name in ["SERVER_PARAMS", "CLIENT_PARAMS"] {
            if asked.value(name).is_some_and(|found| !found.is_empty()) {
                return Err(asked.refusal(name, "no parameters"));
            }
        }
        Ok(asked)
    }

    /// The value of a variable; `None`: it is not set.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The endpoint cannot do what this variable asks for.
    pub fn refusal(&self, name: &str, supported: &str) -> SettingsError {
        SettingsError::NotSupported {
            variable: name.to_owned(),
            found: self.value(name).unwrap_or_default().to_owned(),
            supported: supported.to_owned(),
        }
    }

    /// This variable cannot be understood.
    pub(crate) fn invalid(&self, variable: &'static str, expected: &'static str) -> SettingsError {
        SettingsError::Invalid { variable, found: self.value(variable).unwrap_or_default().to_owned(), expected }
    }

    /// One of `values`, the first where the variable is not set.
    pub(crate) fn choice<T: Named>(&self, name: &str, values: &[T]) -> Result<T, SettingsError> {
        match (self.value(name), values) {
            (None, [first, ..]) => Ok(*first),
            (found, _) => self.one_of(name, found, values),
        }
    }

    /// One of `values`; `None` where the variable is not set.
    pub(crate) fn choice_or_none<T: Named>(&self, name: &str, values: &[T]) -> Result<Option<T>, SettingsError> {
        self.value(name).map(|found| self.one_of(name, Some(found), values)).transpose()
    }

    /// The same, for a variable that must be set.
    pub(crate) fn stated<T: Named>(&self, name: &str, values: &[T]) -> Result<T, SettingsError> {
        self.one_of(name, self.value(name), values)
    }

    fn one_of<T: Named>(&self, name: &str, found: Option<&str>, values: &[T]) -> Result<T, SettingsError> {
        let chosen = values.iter().find(|value| Some(value.name()) == found).copied();
        chosen.ok_or_else(|| {
            let names: Vec<_> = values.iter().map(|value| value.name()).collect();
            self.refusal(name, &names.join(", "))
        })
    }

    /// A number; `None` where the variable is not set.
    pub(crate) fn number<T: FromStr>(
        &self,
        name: &'static str,
        expected: &'static str,
    ) -> Result<Option<T>, SettingsError> {
        self.value(name).map(|text| text.parse().map_err(|_| self.invalid(name, expected))).transpose()
    }
}
