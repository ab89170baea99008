//! One run, fully resolved: no default is left open.

use std::collections::BTreeMap;

use quiclab_units::{ByteCount, Duration, Rate};
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use crate::folder_names;
pub use crate::hosts::{Clock, FairQueueing, HostModel, Hosts, Qdisc, TheftDistribution, Thefts};
use crate::stack::Role;

/// One transfer on one testbed, with every setting that can change its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Name of the experiment this run belongs to, for example `quic-steps/baseline`.
    pub experiment: String,
    /// Which repetition this is, from 1. Repetitions differ by their seed only.
    pub repetition: u32,
    /// Everything random in the run is derived from this number. 0 to about 10^15.
    pub seed: u64,
    /// By how much the start of the transfer is delayed: drawn from the seed, from 0 to just below 100 ms.
    #[serde(with = "crate::quantity")]
    pub start_shift: Duration,
    /// The settings.
    pub settings: Settings,
    /// What tells its settings from those of the other runs of its experiment, such as `cubic-gso_on`; for the name of its folder.
    /// Empty where there is nothing to tell, and in a run that was read from a record.
    #[serde(skip)]
    pub label: String,
}

/// Every setting of a run. What each takes, and its default, stands in docs/reference/experiment-file.md.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The guest's kernel, such as `6.1`.
    pub kernel: String,
    /// The stack and how it is to behave.
    pub stack: StackSettings,
    /// What is transferred.
    pub workload: Workload,
    /// What lies between the hosts.
    pub path: Path,
    /// What differs from a host's defaults.
    pub hosts: Hosts,
    /// What is captured.
    pub tap: Tap,
    /// How the packets are read. It changes the metrics, not the packets, and is part of the identity all the same.
    pub analysis: Analysis,
}

/// The stack and how it is to behave. An endpoint that cannot honour one of these says so by exit status 127.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackSettings {
    /// Name of the stack that the run is about.
    pub name: String,
    /// Name of the stack that serves: [`StackSettings::name`], where that has a server.
    pub server: String,
    /// Name of the stack that fetches: [`StackSettings::name`], where that has a client.
    pub client: String,
    /// The sender's congestion control, by its usual short name such as `cubic`. One that the server's stack claims, as all below;
    /// [`DEFAULT`] leaves it to the endpoint.
    pub congestion_control: String,
    /// Segmentation offload.
    pub gso: Gso,
    /// Most packets in one buffer; from 1, `None` for as many as the stack likes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gso_segments: Option<u32>,
    /// Who spaces the packets.
    pub pacing: Pacing,
    /// The clock of the send times; `None` where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txtime_clock: Option<Clock>,
    /// Whether a send time is the latest one; only on [`Clock::Tai`], for `etf` in its deadline mode.
    #[serde(default, skip_serializing_if = "is_false")]
    pub txtime_deadline: bool,
    /// How the kernel is told the rate of a buffer; `None` but with paced segmentation offload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gso_rate: Option<GsoRate>,
    /// Whether slow start may end by HyStart++ (RFC 9406); `None` leaves it to the stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hystart: Option<Switch>,
    /// HTTP version.
    pub http: Http,
}

/// How the kernel is told the rate at which the segments of a buffer leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GsoRate {
    /// As the mark of the buffer (`SO_MARK`), for the queueing discipline of kernel/module.
    Mark,
    /// By a control message of its own (`UDP_SEGMENT_PACING_RATE`), for a kernel with the patch of kernel/patch.
    Message,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// Generic segmentation offload of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gso {
    /// One packet per system call or message.
    Off,
    /// Many packets in one buffer, cut by the kernel.
    On,
    /// The same, and the kernel gives each packet a send time of its own, by a rate that the stack tells.
    Paced,
    /// Whatever the endpoint does by itself.
    Default,
}

/// What stands for "whatever the endpoint does by itself", of stacks that have no manifest to tell.
pub const DEFAULT: &str = "default";

/// Who spaces the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pacing {
    /// Nobody.
    Off,
    /// The stack, by timers of its own.
    User,
    /// The kernel, by the send time that the stack gives each packet (`SO_TXTIME`).
    Txtime,
    /// Whatever the endpoint does by itself.
    Default,
}

/// What is spoken over the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Http {
    /// HTTP/3.
    H3,
    /// HTTP/0.9 over QUIC, as the interop tests have it.
    Hq,
    /// HTTP/2 over TLS over TCP.
    H2,
}

/// Version of the Internet Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum IpVersion {
    /// IPv4.
    #[serde(rename = "4")]
    V4,
    /// IPv6.
    #[serde(rename = "6")]
    V6,
}

/// What is transferred.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The contract's test case, such as `transfer`.
    pub test_case: String,
    /// Length of each response; more than 0.
    #[serde(with = "crate::quantity")]
    pub size: ByteCount,
    /// Number of responses; from 1.
    pub files: u32,
    /// Least length of each file's name in bytes: a longer name makes a larger request.
    pub name_bytes: u32,
    /// Most requests open at the same time; from 1, `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,
    /// What the server's certificate chain is like.
    pub certificate: Certificate,
    /// How long the server's certificate takes to come.
    #[serde(with = "crate::quantity")]
    pub certificate_delay: Duration,
    /// Virtual time after which the client counts as hanging; more than 0.
    #[serde(with = "crate::quantity")]
    pub timeout: Duration,
}

/// What a server's certificate chain is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Certificate {
    /// The leaf alone, some 500 bytes.
    Small,
    /// With intermediate authorities, over 9 kB: more than three times what a client sends first.
    Large,
}

impl Workload {
    /// Bytes of all responses together.
    pub fn all_bytes(&self) -> ByteCount {
        ByteCount::from_bytes(self.size.as_bytes().saturating_mul(u64::from(self.files)))
    }
}

/// The bottleneck: token bucket with a netem child towards the client, netem towards the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// IP version of everything on it.
    pub ip: IpVersion,
    /// Of the token bucket, towards the client; more than 0. It counts frames with their Ethernet header, without the frame check sequence.
    #[serde(with = "crate::quantity")]
    pub rate: Rate,
    /// Depth of the token bucket: at least 1514 B, a whole frame, and less than 4 GiB.
    #[serde(with = "crate::quantity")]
    pub burst: ByteCount,
    /// One way, from server to client; may be 0.
    #[serde(with = "crate::quantity")]
    pub delay_to_client: Duration,
    /// One way, from client to server; may be 0.
    #[serde(with = "crate::quantity")]
    pub delay_to_server: Duration,
    /// Most packets towards the client, delay line and queue together; from 1. One more is dropped.
    pub queue_limit_packets: u32,
    /// Most packets in the delay line towards the server; from 1.
    pub return_limit_packets: u32,
    /// The packets towards the server that are dropped, counted from 1, in order and each once.
    pub drops_to_server: Vec<u32>,
}

/// What is captured, at the server's egress and behind the bottleneck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tap {
    /// Off leaves the wire unseen: only for measuring what capturing costs.
    pub enabled: bool,
    /// Whether the server's kernel counts how long what it is given to send is, before segmentation. It costs time per packet.
    pub send_sizes: bool,
    /// Whether the endpoints write qlog.
    pub qlog: bool,
    /// Bytes kept of each packet at the sender's tap, 96 to 65535; `None` keeps all.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub snaplen: Option<ByteCount>,
    /// Bytes kept of each packet at the tap behind the bottleneck, 96 to 65535; `None` keeps all.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub bottleneck_snaplen: Option<ByteCount>,
    /// The taps keep the packets of a transfer of this size, and a quarter more; `None`: of the transfer itself, which is the
    /// least in any case.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub room: Option<ByteCount>,
}

/// How the packets are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Analysis {
    /// Packets with a gap strictly below it belong to one train; more than 0.
    #[serde(with = "crate::quantity")]
    pub train_threshold: Duration,
}

/// What a run was made with, from the testbed: name to identity (a hash or a version), such as `qemu` to `7.2`. Part of the
/// run's identity.
pub type Versions = BTreeMap<String, String>;

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

    /// Identity of everything that can change the outcome: settings, seed, start shift, versions. 16 hexadecimal digits. Name
    /// of the experiment and number of the repetition change nothing.
    pub fn id(&self, versions: &Versions) -> String {
        #[derive(Serialize)]
        struct Identity<'a> {
            seed: u64,
            #[serde(with = "crate::quantity")]
            start_shift: Duration,
            settings: &'a Settings,
            versions: &'a Versions,
        }
        let identity = Identity { seed: self.seed, start_shift: self.start_shift, settings: &self.settings, versions };
        let text = toml::to_string(&identity).expect("every field of a run has a TOML form");
        let digest = sha2::Sha256::digest(text);
        digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Name of the run's record: stack, label, repetition with at least two digits, identity, such as
    /// `quiche-cubic-gso_on-01-0123456789abcdef`. All but the identity is for people: another experiment, or an earlier version of
    /// quiclab, may give the same run another label, so a record is looked for by the identity.
    pub fn folder_name(&self, versions: &Versions) -> String {
        let stack = folder_names::of_stack(&self.settings.stack.name);
        let label = if self.label.is_empty() { String::new() } else { format!("-{}", self.label) };
        format!("{stack}{label}-{:02}-{}", self.repetition, self.id(versions))
    }
}

impl StackSettings {
    /// The settings as the server sees them in its environment; and its client, where that is of the same stack. Another
    /// stack's client is left at its own defaults.
    pub fn environment(&self, role: Role) -> BTreeMap<String, String> {
        let mut environment = BTreeMap::from([("QUICLAB_HTTP".to_owned(), word(&self.http))]);
        if role == Role::Server || self.client == self.server {
            for (name, value) in [
                ("QUICLAB_CCA", self.congestion_control.clone()),
                ("QUICLAB_GSO", word(&self.gso)),
                ("QUICLAB_PACING", word(&self.pacing)),
            ] {
                if value != DEFAULT {
                    environment.insert(name.to_owned(), value);
                }
            }
            if let Some(segments) = self.gso_segments {
                environment.insert("QUICLAB_GSO_SEGMENTS".to_owned(), segments.to_string());
            }
            // The usual ones are what an endpoint does that knows nothing of these variables.
            if self.txtime_clock == Some(Clock::Tai) {
                environment.insert("QUICLAB_TXTIME_CLOCK".to_owned(), word(&Clock::Tai));
            }
            if self.txtime_deadline {
                environment.insert("QUICLAB_TXTIME_DEADLINE".to_owned(), "on".to_owned());
            }
            if self.gso_rate == Some(GsoRate::Message) {
                environment.insert("QUICLAB_GSO_RATE".to_owned(), word(&GsoRate::Message));
            }
            if let Some(hystart) = &self.hystart {
                environment.insert("QUICLAB_HYSTART".to_owned(), word(hystart));
            }
        }
        environment
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A value as it is written in files.
pub fn word<T: Serialize>(value: &T) -> String {
    toml::Value::try_from(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
