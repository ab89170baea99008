//! What was seen of a run besides its packets: `path.json`. The same on every testbed.
//!
//! A field is null, or a list is empty, where the testbed could not see it. Lengths are bytes, times are integer nanoseconds.

use std::collections::BTreeMap;

use quiclab_agent_protocol::{
    report::{CpuUse, Offloads, StolenTime},
    stage::StageSeen,
};
use quiclab_experiment::stack::Role;
use quiclab_units::Duration;
use serde::{Deserialize, Serialize};

use crate::{
    clocks::ClocksSeen,
    forwarded::{DropSeen, ForwarderSeen},
    layout::PATH_SCHEMA,
    machine::MachineSeen,
    nanoseconds,
};

/// Number of stray files that are named at most.
pub const MOST_STRAY_FILES: usize = 20;

/// What was seen of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observed {
    /// Version of this layout: [`PATH_SCHEMA`].
    pub schema: u32,
    /// Name of the testbed that saw it, such as `vm`.
    pub testbed: String,
    /// Kernel release of the hosts; `None` where they have no kernel.
    pub kernel_release: Option<String>,
    /// What became of the run.
    pub outcome: Outcome,
    /// UDP or TCP port of the server.
    pub server_port: u16,
    /// Time from the client's start to its end.
    #[serde(rename = "client_lifetime_ns", with = "nanoseconds::option")]
    pub client_lifetime: Option<Duration>,
    /// The server's host.
    pub server: HostSeen,
    /// The client's host.
    pub client: HostSeen,
    /// What became of the packets between the hosts.
    pub path: PathSeen,
    /// Traffic beside that of the endpoints; `None` where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_traffic: Option<CrossTrafficSeen>,
    /// The taps, in the order of the capture's interfaces.
    pub taps: Vec<TapSeen>,
    /// What else the machine did; `None` where time was virtual, or the machine could not be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineSeen>,
    /// How far apart the hosts' clocks were; `None` where one clock stamped everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<ClocksSeen>,
    /// Time that was taken from the CPU; `None` where the run did not ask for it.
    pub thefts: Option<StolenTime>,
    /// Lengths of what the hosts' kernels were given to send, in bytes with Ethernet header and before segmentation, and how often each
    /// occurred; `None` where the run did not ask for it.
    pub send_sizes: Option<BTreeMap<u32, u64>>,
    /// Files that were cut, by their names in the record, with the number of bytes that are missing at their ends.
    pub cut_files: BTreeMap<String, u64>,
    /// What else is missing of the endpoints' logs.
    pub lost_logs: Vec<LostLog>,
    /// True where no packet was on its way when the counters were read.
    pub drained: bool,
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Outcome {
    /// The client ended with 0.
    Done,
    /// An endpoint exited with 127: it does not support a setting or test case.
    Unsupported {
        /// Which endpoint.
        role: Role,
    },
    /// The server ended before the client did.
    ServerEnded,
    /// The server did not listen in time.
    NeverListened,
    /// The client did not end in time.
    ClientTimeout,
    /// The client exited with another status.
    ClientFailed,
    /// An endpoint took away the interface of its own network.
    InterfaceGone {
        /// Which endpoint.
        role: Role,
    },
    /// The testbed itself could not perform the run.
    TestbedFailed {
        /// Why.
        error: String,
    },
}

/// What was seen of one host and its endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSeen {
    /// How the endpoint's process ended; `None` where it was not started, or its end is not known.
    pub end: Option<ProcessEnd>,
    /// CPU time used during the client's lifetime. Where one machine is both hosts, both have the same.
    pub cpu_use: Option<CpuUse>,
    /// The host's own queueing disciplines, the outermost first. Their drops are separate: each counts what it dropped itself.
    pub queues: Vec<StageSeen>,
    /// Offloads of the host's network card, as found after they were set.
    pub offloads: Option<Offloads>,
}

/// How an endpoint's process ended, and what it used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessEnd {
    /// Exit status; `None` where a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// CPU time in user mode. Of simulated hosts, the time that the model took for the endpoint's calls and packets.
    #[serde(rename = "user_time_ns", with = "nanoseconds")]
    pub user_time: Duration,
    /// CPU time in the kernel.
    #[serde(rename = "system_time_ns", with = "nanoseconds")]
    pub system_time: Duration,
    /// Largest resident memory in bytes.
    pub resident_bytes: Option<u64>,
    /// Other processes of the endpoint that were still there after it had ended.
    pub processes_left: u32,
    /// Files it wrote outside of its folders, in order; at most [`MOST_STRAY_FILES`].
    pub stray_files: Vec<String>,
}

/// What became of the packets between the hosts, by direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathSeen {
    /// The stages from the server to the client, in the order in which packets pass them.
    pub to_client: Vec<StageSeen>,
    /// The stages from the client to the server.
    pub to_server: Vec<StageSeen>,
    /// Offloads of the cards on the path, by the name of the direction that they send into, as found after they were set.
    pub offloads: BTreeMap<String, Offloads>,
    /// What moved packets in user space; `None` where the kernel or the simulator did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarder: Option<ForwarderSeen>,
    /// The first packets that were dropped, in the order of time, where the testbed lists them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DropSeen>,
    /// Packets that were dropped beyond those.
    #[serde(default, skip_serializing_if = "is_none_of_them")]
    pub dropped_not_listed: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_none_of_them(count: &u64) -> bool {
    *count == 0
}

impl PathSeen {
    /// The stages that the packets of this sender pass.
    pub fn from_sender(&self, sender: Role) -> &[StageSeen] {
        match sender {
            Role::Server => &self.to_client,
            Role::Client => &self.to_server,
        }
    }
}

/// What became of the traffic from the server's host to the client's beside that of the endpoints, as their kernels counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossTrafficSeen {
    /// Datagrams, or TCP segments with data, that were sent. Retransmissions count.
    pub packets_sent: u64,
    /// Payload bytes of the datagrams; of TCP those that were acknowledged.
    pub bytes_sent: u64,
    /// Datagrams, or TCP segments with data, that arrived.
    pub packets_received: u64,
    /// Payload bytes of the datagrams; of TCP those that were new.
    pub bytes_received: u64,
    /// TCP segments that were sent again; `None` of datagrams.
    pub retransmissions: Option<u64>,
    /// Time from the first packet until the last was handed over.
    #[serde(rename = "lifetime_ns", with = "nanoseconds")]
    pub lifetime: Duration,
    /// True where nothing of it was on its way when it was counted, so that what did not arrive was dropped.
    pub is_complete: bool,
}

impl CrossTrafficSeen {
    /// Packets that the path dropped; `None` where some may still have been on their way.
    pub fn drops_packets(&self) -> Option<u64> {
        self.packets_sent.checked_sub(self.packets_received).filter(|_| self.is_complete)
    }
}

/// What a tap says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TapSeen {
    /// Where it was.
    pub role: TapRole,
    /// Number of its interface in the capture.
    pub interface: u32,
    /// Bytes kept of each packet; `None` where packets are kept whole.
    pub snaplen: Option<u32>,
    /// Packets that passed it.
    pub packets_seen: u64,
    /// Packets of these that are not in the capture, because there was no room.
    pub packets_lost: u64,
    /// Super-packets that passed it, whose packets are in the capture; `None` where the interfaces carry none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub super_packets: Option<u64>,
    /// What stamped the packets, and why; `None` where it is the kernel or the simulator, on one host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamps: Option<StampsSeen>,
}

/// What stamped the packets of a tap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StampsSeen {
    /// `hardware` (the network card) or `software` (the kernel).
    pub by: String,
    /// Why not the card; empty where it was.
    pub why: String,
}

/// Where a tap was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TapRole {
    /// The tap was at the server's egress, behind its queueing discipline and any segmentation.
    Sender,
    /// The tap was behind the bottleneck, before the client.
    BehindBottleneck,
}

/// Logs of an endpoint that are not in the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LostLog {
    /// Whose logs they are.
    pub role: Role,
    /// What is missing, in a sentence.
    pub what: String,
}

impl Observed {
    /// Nothing seen yet, on this testbed.
    pub fn nothing(testbed: &str, server_port: u16) -> Self {
        Self {
            schema: PATH_SCHEMA,
            testbed: testbed.to_owned(),
            kernel_release: None,
            outcome: Outcome::Done,
            server_port,
            client_lifetime: None,
            server: HostSeen::default(),
            client: HostSeen::default(),
            path: PathSeen::default(),
            cross_traffic: None,
            taps: Vec::new(),
            machine: None,
            clocks: None,
            thefts: None,
            send_sizes: None,
            cut_files: BTreeMap::new(),
            lost_logs: Vec::new(),
            drained: false,
        }
    }

    /// Packets of this sender that the path dropped, by its own counters; `None` where nothing was counted.
    pub fn drops_to_receiver(&self, sender: Role) -> Option<u64> {
        let stages = self.path.from_sender(sender);
        (!stages.is_empty()).then(|| stages.iter().map(StageSeen::all_drops).sum())
    }

    /// The larger CPU share of both hosts, which is what can limit a transfer.
    pub fn busy_share(&self) -> Option<f64> {
        let used = [self.server.cpu_use, self.client.cpu_use];
        used.into_iter().flatten().map(|used| used.share).max_by(f64::total_cmp)
    }

    /// The host of this role.
    pub fn host(&self, role: Role) -> &HostSeen {
        match role {
            Role::Server => &self.server,
            Role::Client => &self.client,
        }
    }

    /// Interface of the tap in this role; `None` where there was none.
    pub fn interface_of(&self, role: TapRole) -> Option<u32> {
        self.taps.iter().find(|tap| tap.role == role).map(|tap| tap.interface)
    }

    /// The text of `path.json`: indented, fields in the order of declaration, a newline at the end. Equal values give equal bytes.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("string keys, and values that JSON has") + "\n"
    }
}

impl HostSeen {
    /// The packets that the host's own queues dropped, and those that left them; `None` where it has no queue.
    pub fn queue_drops_and_passed(&self) -> Option<(u64, u64)> {
        let outermost = self.queues.first()?;
        Some((self.queues.iter().map(StageSeen::all_drops).sum(), outermost.packets_passed))
    }
}

impl TapRole {
    /// Name of the interface in the capture.
    pub fn interface_name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::BehindBottleneck => "behind-bottleneck",
        }
    }
}
