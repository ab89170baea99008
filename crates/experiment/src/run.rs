//! One run, fully resolved: no default is left open.

use std::collections::BTreeMap;

use quiclab_units::{ByteCount, Duration, Rate};
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

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
}

/// Every setting of a run. What each takes, and its default, stands in docs/reference/experiment-file.md.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The guest's kernel: `6.1`, `6.1-rt` or `6.12`.
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
    /// Name of the stack in its manifest; it serves both roles.
    pub name: String,
    /// The sender's congestion control, by its usual short name such as `cubic`. One that the stack claims, as all below.
    pub congestion_control: String,
    /// Segmentation offload.
    pub gso: Gso,
    /// Who spaces the packets.
    pub pacing: Pacing,
    /// HTTP version.
    pub http: Http,
}

/// Generic segmentation offload of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gso {
    /// One packet per system call or message.
    Off,
    /// Many packets in one buffer, cut by the kernel.
    On,
}

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
    /// Length of the one response; more than 0.
    #[serde(with = "crate::quantity")]
    pub size: ByteCount,
    /// Virtual time after which the client counts as hanging; more than 0.
    #[serde(with = "crate::quantity")]
    pub timeout: Duration,
}

/// The bottleneck: token bucket with a netem child towards the client, netem towards the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
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
}

/// What differs from a host's defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// Queueing discipline of the server's interface.
    pub server_qdisc: Qdisc,
    /// Receive buffer of every socket that does not ask for its own size; 1 B to 1 GiB.
    #[serde(with = "crate::quantity")]
    pub udp_receive_buffer: ByteCount,
    /// Send buffer of every socket that does not ask for its own size; 1 B to 1 GiB.
    #[serde(with = "crate::quantity")]
    pub udp_send_buffer: ByteCount,
}

/// A queueing discipline of Linux.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Qdisc {
    /// No queue: `noqueue`, the default of a virtual Ethernet.
    None,
    /// Three first-in first-out bands.
    PfifoFast,
    /// Fair queueing with send times on `CLOCK_MONOTONIC`.
    Fq {
        /// Most packets of one flow in the queue; from 1.
        flow_limit_packets: u32,
    },
    /// Fair queueing with controlled delay.
    FqCodel,
    /// Earliest TxTime first, send times on `CLOCK_TAI`. Drops what has none.
    Etf {
        /// How long before its send time a packet is taken up; more than 0.
        #[serde(with = "crate::quantity")]
        delta: Duration,
    },
}

/// What is captured, at the server's egress and behind the bottleneck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tap {
    /// Off leaves the wire unseen: only for measuring what capturing costs.
    pub enabled: bool,
    /// Bytes kept of each packet at the sender's tap, 96 to 65535; `None` keeps all.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub snaplen: Option<ByteCount>,
    /// Bytes kept of each packet at the tap behind the bottleneck, 96 to 65535; `None` keeps all.
    #[serde(with = "crate::quantity::option", default, skip_serializing_if = "Option::is_none")]
    pub bottleneck_snaplen: Option<ByteCount>,
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

    /// Name of the run's record: stack, repetition with at least two digits, identity, such as `quiche-01-0123456789abcdef`.
    pub fn folder_name(&self, versions: &Versions) -> String {
        format!("{}-{:02}-{}", self.settings.stack.name, self.repetition, self.id(versions))
    }
}

impl StackSettings {
    /// The settings as an endpoint sees them in its environment.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let gso = match self.gso {
            Gso::Off => "off",
            Gso::On => "on",
        };
        let pacing = match self.pacing {
            Pacing::Off => "off",
            Pacing::User => "user",
            Pacing::Txtime => "txtime",
        };
        let http = match self.http {
            Http::H3 => "h3",
            Http::Hq => "hq",
            Http::H2 => "h2",
        };
        [
            ("QUICLAB_CCA", self.congestion_control.as_str()),
            ("QUICLAB_GSO", gso),
            ("QUICLAB_PACING", pacing),
            ("QUICLAB_HTTP", http),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
    }
}
