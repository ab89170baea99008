//! What a stack says of itself: `stacks/<name>/stack.toml`.

use std::collections::{BTreeMap, BTreeSet};

use quiclab_units::ByteCount;
use serde::{Deserialize, Serialize};

use crate::settings::path::IpVersion;
use crate::settings::stack::{Clock, FirstAck, Gso, GsoRate, Http, KeyExchange, Pacing};

/// Values of `TESTCASE` that the endpoint contract knows.
pub const TEST_CASES: &[&str] = &[
    "transfer",
    "handshake",
    "retry",
    "chacha20",
    "keyupdate",
    "resumption",
    "zerortt",
    "v2",
    "http3",
    "multiconnect",
    "connectionmigration",
    PERF,
];

/// The test case that transfers no files: draft-banks-quic-performance.
pub const PERF: &str = "perf";

/// Names of congestion control algorithms that an endpoint can be asked for without knowing it.
pub const CONGESTION_CONTROL: &[&str] = &["cubic", "reno", "bbr", "bbr2", "bbr3", "copa"];

/// The option of a build that says how it is compiled, which belongs in the record.
const PROFILE: &str = "profile";

/// A stack's manifest. Each claim in it can be asked of the endpoint, which answers 127 to what it cannot do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackManifest {
    /// Name of the stack, and of its folder.
    pub name: String,
    /// Version of the stack, or `debian` where the guest image's package has it.
    pub version: String,
    /// SPDX expression.
    pub licence: String,
    /// The stack it is a fork or a wrapper of; not an independent implementation then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_of: Option<String>,
    /// The transport protocol of the stack.
    pub transport: Transport,
    /// The roles of the stack.
    pub roles: Vec<Role>,
    /// The stack that takes the other role where an experiment says nothing, of a stack with a single role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// HTTP versions it speaks; at least the default.
    pub http: Vec<Http>,
    /// Congestion control algorithms by their usual short names.
    pub congestion_control: Vec<String>,
    /// Ways of segmentation offload; one only where its programs have no switch.
    pub gso: Vec<Gso>,
    /// Whether the number of packets in one buffer can be limited.
    #[serde(default)]
    pub gso_segments: bool,
    /// How the endpoint passes the rate of a buffer, where the stack claims paced segmentation offload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gso_rates: Vec<GsoRate>,
    /// Ways of pacing.
    pub pacing: Vec<Pacing>,
    /// The clocks on which it can hand over send times, where it claims to.
    #[serde(default = "monotonic")]
    pub txtime_clocks: Vec<Clock>,
    /// Whether HyStart++ can be switched on and off.
    #[serde(default)]
    pub hystart: bool,
    /// Whether both roles take the largest packet of the path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mtu: bool,
    /// IP versions.
    pub ip: Vec<IpVersion>,
    /// Whether both roles write qlog.
    pub qlog: bool,
    /// Whether the server's qlog says nothing of the congestion window.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub qlog_without_windows: bool,
    /// The roles that log TLS secrets.
    pub key_log: Vec<Role>,
    /// What the server does while the certificate is not there yet.
    pub certificate_delay: CertificateDelay,
    /// What the server can be asked to send before the ServerHello.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_ack: Vec<FirstAck>,
    /// Whether the probe timeout before the first round-trip time can be set, in both roles.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default_pto: bool,
    /// The key exchanges to which its client can be limited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_exchanges: Vec<KeyExchange>,
    /// Notes on what the stack does beyond or below the contract.
    pub notes: String,
    /// The test cases of the contract it takes part in.
    pub test_cases: TestCases,
    /// What holds where an experiment says nothing. Each value is one that the lists above claim.
    pub default: Defaults,
    /// How the stack's endpoints are built.
    pub build: Build,
    /// How the stack's endpoints are started.
    pub guest: Guest,
}

/// What a stack speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// QUIC over UDP.
    Quic,
    /// TLS over TCP.
    Tcp,
}

/// A side of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The server sends the file.
    Server,
    /// The client asks for the file.
    Client,
}

/// How a stack's server behaves while its certificate is not there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CertificateDelay {
    /// The server cannot wait for a certificate: `QUICLAB_CERT_DELAY` is refused.
    None,
    /// The server sends nothing.
    Wait,
    /// The server acknowledges the first datagrams of a ClientHello that takes several, and sends nothing once it has the whole.
    WaitAfterHello,
    /// The server acknowledges what comes.
    InstantAck,
}

impl CertificateDelay {
    /// The value of `stack.first_ack` that says the same; `None` where none does, or where it is open whether ACKs are padded.
    pub fn first_ack(self) -> Option<FirstAck> {
        match self {
            Self::None | Self::WaitAfterHello | Self::InstantAck => None,
            Self::Wait => Some(FirstAck::Wait),
        }
    }
}

/// Names of the contract's test cases, by role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestCases {
    /// The test cases in which the stack's server takes part.
    #[serde(default)]
    pub server: BTreeSet<String>,
    /// The test cases in which the stack's client takes part.
    #[serde(default)]
    pub client: BTreeSet<String>,
}

/// Settings of a stack where an experiment says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// HTTP version.
    pub http: Http,
    /// Congestion control algorithm.
    pub congestion_control: String,
    /// Segmentation offload.
    pub gso: Gso,
    /// Pacing.
    pub pacing: Pacing,
}

/// How a stack's endpoints are built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Command for `sh -e -c`, in the stack's folder; it leaves its files in `$QUICLAB_STACK_OUT`.
    pub command: String,
    /// Profile of the build, for the record: an unoptimised build paces differently.
    pub profile: String,
    /// Debian packages the building machine needs.
    pub host_packages: Vec<String>,
    /// Toolchains that the build needs on the `PATH`.
    pub host_tools: Vec<String>,
    /// What the build depends on besides the stack's folder: files, folders and patterns, relative to it. When one of them changes, it
    /// is built again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// What the command can be told, by `QUICLAB_OPTION_NAME`: the values of each option, the usual one first. An experiment names others
    /// behind the stack, such as `quiche-0.24 profile=dev`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, Vec<String>>,
}

/// How a stack's endpoints are started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guest {
    /// Debian packages of the root file system it is started in.
    pub packages: Vec<String>,
    /// Memory that one endpoint needs, where that is more than a plain program's.
    #[serde(default, with = "crate::quantity::option", skip_serializing_if = "Option::is_none")]
    pub memory: Option<ByteCount>,
    /// The command and its arguments; what the build left is mounted at `/stack`.
    pub command: Vec<String>,
    /// The contract that the endpoint keeps.
    #[serde(default)]
    pub contract: Contract,
    /// Variables that the endpoint is started with besides those of the contract.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// The folder in which the endpoint is started; `None` is that of its logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Whether its programs take random numbers from the processor (RDRAND, RDSEED) in a way that no variable turns off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hardware_random: bool,
}

/// The contract that an endpoint keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contract {
    /// The contract of docs/reference/endpoint-contract.md.
    #[default]
    Quiclab,
    /// The contract of the QUIC Interop Runner alone, which has no word for congestion control, offloads or pacing.
    InteropRunner,
}

/// Why a manifest cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {message}")]
pub struct ManifestError {
    file: String,
    message: String,
}

impl StackManifest {
    /// Parses a manifest; `file` is its name, for messages.
    ///
    /// # Errors
    /// Text that is no TOML, keys that do not exist or are missing, or a default that the stack does not claim.
    pub fn parse(file: &str, text: &str) -> Result<Self, ManifestError> {
        let error = |message: String| ManifestError { file: file.to_owned(), message };
        let manifest: Self = toml::from_str(text).map_err(|cause| error(cause.to_string()))?;
        let Defaults { http, congestion_control, gso, pacing } = &manifest.default;
        for (key, claimed) in [
            ("default.http", manifest.http.contains(http)),
            ("default.congestion_control", manifest.congestion_control.contains(congestion_control)),
            ("default.gso", manifest.gso.contains(gso)),
            ("default.pacing", manifest.pacing.contains(pacing)),
        ] {
            if !claimed {
                return Err(error(format!(
                    "{key}: found a value that the stack does not claim, expected one that it claims"
                )));
            }
        }
        if manifest.gso.contains(&Gso::Paced) == manifest.gso_rates.is_empty() {
            return Err(error(
                "gso_rates: expected \"mark\", \"message\" or both with gso = \"paced\", and none otherwise".to_owned(),
            ));
        }
        if manifest.roles.is_empty() {
            return Err(error("roles: found none, expected \"server\", \"client\" or both".to_owned()));
        }
        match (&manifest.peer, &manifest.roles[..]) {
            (None, [_]) => {
                return Err(error(
                    "peer: missing; a stack with a single role needs the name of another \
                                  stack"
                        .to_owned(),
                ));
            }
            (Some(peer), [_, _, ..]) => {
                return Err(error(format!("peer: found {peer:?}, expected none for a stack with both roles")));
            }
            _ => {}
        }
        for (name, values) in &manifest.build.options {
            let is_word = |text: &str| {
                !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
            };
            if !is_word(name) || values.len() < 2 || !values.iter().all(|value| is_word(value)) {
                return Err(error(format!(
                    "build.options.{name}: found {values:?}, expected two values or more, all of letters, digits and '-'"
                )));
            }
        }
        if manifest.guest.command.is_empty() {
            return Err(error("guest.command: found an empty list, expected at least one word".to_owned()));
        }
        Ok(manifest)
    }

    /// The stack with every other combination of its build's options, such as `quiche-0.24 profile=dev`; each with those of its options
    /// that are not the usual ones.
    pub fn variants(&self) -> Vec<(BTreeMap<String, String>, StackManifest)> {
        let mut all = vec![(BTreeMap::new(), self.clone())];
        for (name, values) in &self.build.options {
            let with = |(options, manifest): &(BTreeMap<String, String>, StackManifest), value: &String| {
                let (mut options, mut manifest) = (options.clone(), manifest.clone());
                options.insert(name.clone(), value.clone());
                manifest.name = format!("{} {name}={value}", manifest.name);
                if name == PROFILE {
                    manifest.build.profile.clone_from(value);
                }
                (options, manifest)
            };
            let others: Vec<_> =
                all.iter().flat_map(|one| values.iter().skip(1).map(|value| with(one, value))).collect();
            all.extend(others);
        }
        all.split_off(1)
    }

    /// True where the stack has this role.
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// True for an endpoint that keeps the contract of the QUIC Interop Runner alone.
    pub fn is_of_interop_runner(&self) -> bool {
        self.guest.contract == Contract::InteropRunner
    }

    /// True for QUIC, false for TLS over TCP.
    pub fn is_quic(&self) -> bool {
        self.transport == Transport::Quic
    }
}

/// The stack of this name; or of its name with a version behind `@`, whole or its beginning, such as `quiche@0.22 profile=dev`. `None` where there is
/// none, or more than one of that version.
pub fn named<'a>(stacks: &'a BTreeMap<String, StackManifest>, name: &str) -> Option<&'a StackManifest> {
    if let Some(exact) = stacks.get(name) {
        return Some(exact);
    }
    let (base, version) = name.split_once('@')?;
    let (version, options) = version.split_once(' ').unwrap_or((version, ""));
    let is_of = |manifest: &&StackManifest| {
        let (own, with) = manifest.name.split_once(' ').unwrap_or((&manifest.name, ""));
        let rest = manifest.version.strip_prefix(version);
        let is_version = !version.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let is_base = own == base || own.strip_prefix(base).is_some_and(|rest| rest.starts_with('-'));
        is_base && is_version && with == options
    };
    let mut found = stacks.values().filter(is_of);
    found.next().filter(|_| found.next().is_none())
}

fn monotonic() -> Vec<Clock> {
    vec![Clock::Monotonic]
}

/// The HTTP versions that `server` and `client` can both be told to speak in `test_case`, the server's favourite first.
///
/// The contract of the QUIC Interop Runner has no variable for it: a test case is HTTP/3 by its name, `http3`, which `transfer`
/// becomes where HTTP/3 is asked for, and all others are HTTP/0.9.
pub fn common_http(server: &StackManifest, client: &StackManifest, test_case: &str) -> Vec<Http> {
    let either_of_interop_runner = [server, client].into_iter().any(StackManifest::is_of_interop_runner);
    let candidates = match test_case {
        "http3" if either_of_interop_runner => vec![Http::H3],
        "transfer" if either_of_interop_runner => vec![Http::Hq, Http::H3],
        _ if either_of_interop_runner => vec![Http::Hq],
        _ => [&[server.default.http], &server.http[..]].concat(),
    };
    candidates.into_iter().filter(|http| server.http.contains(http) && client.http.contains(http)).collect()
}
