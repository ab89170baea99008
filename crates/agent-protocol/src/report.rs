//! What the agent answers when a run is over.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{cross_traffic::CrossTrafficReport, forwarder::ForwarderReport};

/// How a run went, as seen inside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What became of it.
    pub outcome: Outcome,
    /// The server's end.
    pub server: Option<ProcessEnd>,
    /// The client's end.
    pub client: Option<ProcessEnd>,
    /// Time from the client's start to its end.
    pub client_lifetime_ns: Option<u64>,
    /// CPU time used during the client's lifetime; `None` where there was no client, or computing takes no time.
    pub cpu_use: Option<CpuUse>,
    /// Every queue before and after.
    pub qdiscs: Vec<QdiscCounters>,
    /// What [`crate::network::Network::drops_to_server`] did; `None` where it lists no packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drops_to_server: Option<ListedDrops>,
    /// What the forwarder did; `None` where the kernel moved packets, or the forwarder never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarder: Option<ForwarderReport>,
    /// What became of the traffic beside that of the endpoints; `None` where there was none, or it never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_traffic: Option<CrossTrafficReport>,
    /// Time that the CPU was taken away, from the server's start to the end of the transfer; `None` where the run asked for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thefts: Option<StolenTime>,
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
    /// Kernel release.
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
    /// An endpoint took away the interface of its own network, which the run needs to its end.
    InterfaceGone {
        /// `server` or `client`.
        role: String,
    },
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
    pub user_time_ns: u64,
    /// CPU time in the kernel.
    pub system_time_ns: u64,
    /// Other processes of the endpoint that were still there when it had ended.
    #[serde(default)]
    pub processes_left: u32,
    /// Files it wrote outside of the folders it was given, in order; at most [`MOST_STRAY_FILES`].
    #[serde(default)]
    pub stray_files: Vec<String>,
}

/// Most stray files that are named.
pub const MOST_STRAY_FILES: usize = 20;

/// CPU time used during the client's lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuUse {
    /// Whose time it is.
    pub of: CpuUser,
    /// CPU time summed over all CPUs, to a hundredth of a second.
    pub time_ns: u64,
    /// CPUs that the machine has.
    pub cpus: u32,
    /// [`CpuUse::time_ns`] as a share of what its user could have done in that time, 0 to 1: all CPUs together for the machine, where
    /// one busy core of four is 0.25; one CPU for the endpoints, 1 where they used one CPU or more. One thread that is always
    /// busy limits a transfer, whatever other CPUs do.
    pub share: f64,
}

/// Whose CPU time was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuUser {
    /// Everything on the machine, kernel included: the time in which no CPU was idle.
    Machine,
    /// The endpoints and the processes they started.
    Endpoints,
}

/// Counters of one queueing discipline. They start at zero when it is installed, which is before the run begins. Old records have it too,
/// and refuse unknown fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QdiscCounters {
    /// `server`, `wire` or `client`.
    pub namespace: String,
    /// Its interface.
    pub interface: String,
    /// Kind of the discipline, for example `netem`.
    pub kind: String,
    /// Handle, for example `1:0`.
    pub handle: String,
    /// Packets that left it.
    pub packets: u64,
    /// Bytes that left it.
    pub bytes: u64,
    /// Packets that it or one inside of it dropped.
    pub drops: u64,
    /// Times a packet had to wait for its rate.
    pub overlimits: u64,
    /// Packets waiting in it now.
    pub backlog_packets: u64,
    /// Bytes waiting in it now.
    pub backlog_bytes: u64,
    /// What only this kind counts, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, u64>,
}

/// Offloads of a network card that decide what a tap sees. Records have it too, and refuse unknown fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offloads {
    /// Transmit checksums are left to the interface. UDP GSO sends fail with EIO without it.
    pub transmit_checksum: bool,
    /// TCP segmentation is left to the interface.
    pub tcp_segmentation: bool,
    /// Segmentation happens just before the interface, in software.
    pub generic_segmentation: bool,
    /// UDP segmentation is left to the interface.
    pub udp_segmentation: bool,
}

/// What became of the packets that came to a list of packets to drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedDrops {
    /// Packets that came to it.
    pub seen: u64,
    /// How many of them it dropped.
    pub dropped: u64,
}

/// CPU time that was taken away. Records have it too, and refuse unknown fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StolenTime {
    /// Number of thefts.
    pub count: u64,
    /// Their length together.
    pub time_ns: u64,
}

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
    /// Bytes of the last of them that are handed over, because nothing is behind them; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_block_bytes: Option<u64>,
    /// Whether each frame has the kernel's header `struct virtio_net_hdr` before it, because some are super-packets.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_headers: bool,
    /// Why the kernel and not the network card stamped the packets; `None` where that was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_hardware_stamps: Option<String>,
}

impl TapReport {
    /// Length of the capture as it is handed over; `None` where it cannot be.
    pub fn bytes_used(&self) -> Option<u64> {
        let last = self.last_block_bytes.filter(|_| self.blocks_used > 0);
        let missing = self.block_bytes.checked_sub(last.unwrap_or(self.block_bytes))?;
        self.block_bytes.checked_mul(self.blocks_used)?.checked_sub(missing)
    }
}
