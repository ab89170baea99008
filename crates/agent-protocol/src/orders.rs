//! What the agent is told to do: one run, every value resolved.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{activity::Sampling, cross_traffic::CrossTraffic, network::Network};

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orders {
    /// What is set on the machine as a whole. Only process 1 of a virtual machine accepts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// How long the client waits once the server listens.
    pub start_shift_ns: u64,
    /// The network between the two hosts.
    pub network: Network,
    /// Whether the hosts have IPv6 as well as IPv4. Without it nothing has to be waited for before a run: a kernel tells multicast groups
    /// when an interface gets an address, up to a second later. Only `serve` accepts `false`.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub has_ipv6: bool,
    /// Time by which the endpoints' timers may be late (`PR_SET_TIMERSLACK`).
    pub timer_slack_ns: u64,
    /// What is captured; `None` captures nothing.
    pub tap: Option<Tap>,
    /// What is transferred.
    pub transfer: Transfer,
    /// Files that both endpoints see, such as certificates.
    pub files: Vec<File>,
    /// The server.
    pub server: Program,
    /// The client.
    pub client: Program,
    /// Where the server will listen.
    pub listen: Listen,
    /// Most bytes that each endpoint may write into its folder of logs.
    pub log_limit_bytes: u64,
    /// Who runs on which CPUs.
    #[serde(default, skip_serializing_if = "Cpus::is_any")]
    pub cpus: Cpus,
    /// Traffic beside that of the endpoints; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_traffic: Option<CrossTraffic>,
    /// How what the hosts do is sampled; `None`: not at all, as where time is virtual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// CPU time of an endpoint between two samples of where it is; `None`: no samples. What runs on other CPUs than the first
    /// is not sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_period_ns: Option<u64>,
}

/// CPUs by the kernel's numbers; empty lists leave it to the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpus {
    /// Where the server runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<u32>,
    /// Where the client runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client: Vec<u32>,
    /// Where the forwarder's thread runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forwarder: Vec<u32>,
}

impl Cpus {
    /// Whether everything may run everywhere.
    pub fn is_any(&self) -> bool {
        *self == Self::default()
    }
}

fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_yes(has: &bool) -> bool {
    *has
}

/// What holds for a whole machine and not only for the namespaces of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Bytes credited to the random pool, so that everything random follows from the seed: [`ENTROPY_BYTES`].
    pub entropy: Vec<u8>,
    /// Receive buffer of every socket that does not ask for its own size.
    pub receive_buffer_bytes: u64,
    /// Send buffer of every socket that does not ask for its own size.
    pub send_buffer_bytes: u64,
    /// Whether the kernel counts the lengths of what the server sends, before segmentation.
    pub count_send_sizes: bool,
    /// Whether the kernel's CUBIC may end slow start by HyStart; `None`: as the kernel has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_hystart: Option<bool>,
    /// CPU time that is taken away; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thefts: Option<Thefts>,
}

/// Bytes of entropy of a run: the width of the kernel's generator.
pub const ENTROPY_BYTES: usize = 32;

/// Intervals in which the CPU runs nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thefts {
    /// The times follow from it: 32 bytes.
    pub seed: Vec<u8>,
    /// How intervals and lengths are distributed.
    pub distribution: TheftDistribution,
    /// Mean time from the end of one to the beginning of the next; more than 0.
    pub interval_ns: u64,
    /// Mean length; more than 0.
    pub length_ns: u64,
}

/// How a random time is distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TheftDistribution {
    /// Always the mean.
    Constant,
    /// Exponentially.
    Exponential,
    /// Intervals exponentially, lengths by Pareto's distribution.
    Pareto,
}

/// What is captured, at the measured sender's egress and behind the bottleneck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tap {
    /// Bytes kept of each packet at the sender's tap; `None` keeps all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snaplen_bytes: Option<u32>,
    /// Bytes kept of each packet at the tap behind the bottleneck; `None` keeps all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck_snaplen_bytes: Option<u32>,
    /// The taps have room for the packets of a transfer of this size, and some more.
    pub room_bytes: u64,
    /// Whether the client is the measured sender: the taps are at its egress, and where the wire leads to the server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_client: bool,
}

/// What is transferred.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Names of the files below the server's `WWW`, and below the client's `DOWNLOADS`.
    pub names: Vec<String>,
    /// Length of each.
    pub size_bytes: u64,
    /// Seed of the first file's contents, see [`crate::contents::Contents`]; each next file has the next number.
    pub seed: u64,
    /// Zeros instead of these contents.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub zeros: bool,
    /// The client's files are /dev/null, and nothing of them is handed over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub discard: bool,
    /// How long the client may take.
    pub timeout_ns: u64,
}

/// A file to write before the endpoints start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Absolute path, as the endpoints see it.
    pub path: String,
    /// Its contents.
    pub text: String,
}

/// A program to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The command and its arguments; a command without a slash is looked for in the environment's `PATH`.
    pub command: Vec<String>,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// The folder it is started in.
    pub folder: String,
    /// Whether it waits for the network simulator of the QUIC Interop Runner before it begins.
    pub awaits_simulator: bool,
    /// Where its files are on the machine that the agent runs on. Only `serve` accepts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostFiles>,
}

/// Files of an endpoint on the machine that the agent runs on. The endpoint cannot write to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostFiles {
    /// Folder with a root file system; `None` for the machine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Folder that the endpoint sees as `/stack`; `None` for an empty one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
}

/// The socket by which the agent knows that the server is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// UDP for QUIC, TCP for the baseline.
    pub transport: Transport,
    /// Port number.
    pub port: u16,
    /// How long the server may take until it listens.
    pub timeout_ns: u64,
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// UDP, and QUIC over it.
    Udp,
    /// TCP.
    Tcp,
}
