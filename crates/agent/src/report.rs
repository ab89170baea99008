//! What the agent answers when a run is over.

use std::collections::BTreeMap;

use quiclab_units::Duration;
use serde::{Deserialize, Serialize};

use crate::{counters::QdiscCounters, ethtool::Offloads, thefts::Taken};

/// How a run went, as seen inside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What became of it.
    pub outcome: Outcome,
    /// The server's end.
    pub server: Option<ProcessEnd>,
    /// The client's end.
    pub client: Option<ProcessEnd>,
    /// From the client's start to its end.
    #[serde(with = "quiclab_experiment::quantity::option")]
    pub client_lifetime: Option<Duration>,
    /// Share of the client's lifetime in which the guest's CPU was not idle, 0 to 1, to a hundredth of a second.
    pub busy_share: Option<f64>,
    /// Every queue before and after.
    pub qdiscs: Vec<QdiscCounters>,
    /// Packets towards the server that were dropped by `path.drops_to_server`; `None` where it lists none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_to_server: Option<u64>,
    /// Time that the CPU was taken away, from the server's start to the end of the transfer; `None` where the run asked for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thefts: Option<Taken>,
    /// Offload settings as found after they were set, by namespace and interface.
    pub offloads: BTreeMap<String, Offloads>,
    /// The taps, in the order of the capture's interfaces.
    pub taps: Vec<TapReport>,
    /// Lengths of what the hosts' kernels were given to send, in bytes with Ethernet header and before segmentation, and how
    /// often; where the run asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_sizes: Option<BTreeMap<u32, u64>>,
    /// Files that were cut, by the names of the results, with the bytes left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cut: BTreeMap<String, u64>,
    /// What else is missing of the endpoints' logs, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_logs: Vec<String>,
    /// False where packets were still queued when the counters were read.
    pub drained: bool,
    /// Kernel release of the guest.
    pub kernel_release: String,
}

/// What became of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// The client ended with 0.
    Done,
    /// An endpoint answered 127: a setting or test case that it does not support.
    Unsupported {
        /// `server` or `client`.
        role: String,
    },
    /// The server ended before the client did.
    ServerEnded,
    /// The server did not listen in time.
    NeverListened,
    /// The client did not end in time.
    ClientTimeout,
    /// The client ended with another status.
    ClientFailed,
    /// The agent itself could not do its work.
    AgentFailed {
        /// Why, outermost cause first.
        error: String,
    },
}

/// How a process ended and what it used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessEnd {
    /// Exit status; `None` where a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// CPU time in user mode.
    #[serde(with = "quiclab_experiment::quantity")]
    pub user_time: Duration,
    /// CPU time in the kernel.
    #[serde(with = "quiclab_experiment::quantity")]
    pub system_time: Duration,
    /// Other processes of the endpoint that were still there when it had ended.
    #[serde(default)]
    pub processes_left: u32,
    /// Files it wrote outside of the folders it was given, in order; at most [`MOST_STRAY_FILES`].
    #[serde(default)]
    pub stray_files: Vec<String>,
}

/// More stray files than these are not named.
pub const MOST_STRAY_FILES: usize = 20;

/// What a tap says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapReport {
    /// Name, which becomes the capture's interface name.
    pub name: String,
    /// Bytes kept of each packet; `None` keeps all.
    pub snaplen: Option<u32>,
    /// Packets the kernel handed to the tap.
    pub packets_seen: u64,
    /// Packets the tap's ring had no room for.
    pub packets_lost: u64,
    /// Size of a block of the ring in bytes.
    pub block_bytes: u64,
    /// Blocks that hold packets.
    pub blocks_used: u64,
}
