//! What the agent saw of processes, cores and sockets during a run, in steps of time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Name of the blob with an [`Activity`] as JSON.
pub const ACTIVITY: &str = "host/activity";
/// A blob of this name is no longer than this.
pub const MOST_ACTIVITY_BYTES: u64 = 32 << 20;

/// How a run is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Length of a step. It doubles as often as a long run needs to keep the samples within bounds.
    pub step_ns: u64,
    /// Whether system calls are counted, which makes each take longer.
    pub system_calls: bool,
}

/// What happened from just before the client started until it had ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Activity {
    /// When each sample was taken, in ns of `CLOCK_REALTIME`, by which the taps stamp packets. Step `n` is from time `n` to time `n + 1`.
    pub times_ns: Vec<u64>,
    /// What was counted, in the order in which it was first seen.
    pub series: Vec<Series>,
    /// Calls of each endpoint by number, of all steps together. A role is absent where they could not be counted.
    pub system_calls: BTreeMap<String, BTreeMap<u32, u64>>,
    /// What the interfaces of the hosts were given and handed up; empty where it could not be counted.
    pub batches: Vec<Batches>,
    /// What could not be counted, and why.
    pub missing: Vec<Missing>,
    /// Threads beyond the bound, which have no series.
    pub threads_not_listed: u64,
}

/// What was counted of one subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// `server`, `client`, `agent` or `machine`.
    pub of: String,
    /// What the numbers belong to.
    pub subject: Subject,
    /// The step of the first value.
    pub first_step: u32,
    /// What was counted in each step, by name of the counter. All have the same length.
    pub counters: BTreeMap<String, Vec<u64>>,
}

/// What numbers belong to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Subject {
    /// All processes of an endpoint, those included that have ended.
    Endpoint,
    /// A thread.
    Thread {
        /// Number of its process, as the endpoint sees it.
        process: u32,
        /// Its own number.
        thread: u32,
        /// Its name.
        name: String,
    },
    /// A core of the machine.
    Core {
        /// Its number.
        core: u32,
    },
    /// The UDP sockets of a host.
    Udp,
    /// All system calls of an endpoint.
    SystemCalls,
    /// Events that the kernel or the processor counts for the processes of an endpoint.
    Events,
}

/// Packets that crossed the interface of a host together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batches {
    /// `server` or `client`.
    pub of: String,
    /// True for what the host sent, before segmentation; false for what it received, behind any merging.
    pub sent: bool,
    /// How often the kernel handed over so many packets in one buffer.
    pub packets: BTreeMap<u32, u64>,
    /// Bytes of the longest buffer, with its Ethernet header.
    pub largest_bytes: u64,
}

/// What could not be counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    /// Which counters: `system_calls`, `batches`, or the name of a counter.
    pub what: String,
    /// Why.
    pub reason: String,
}
