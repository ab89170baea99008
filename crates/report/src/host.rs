//! What the hosts of a run did over time.

use std::collections::BTreeMap;

/// Curves and tables of what the hosts did. Times are nanoseconds since the first packet at the sender's tap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostPictures {
    /// The threads that used most CPU time, in cores.
    pub threads: Vec<HostCurve>,
    /// Each core's time that was not idle, and all cores' softirq and stolen time, as shares.
    pub cores: Vec<HostCurve>,
    /// Context switches of each endpoint, in thousands a second.
    pub switches: Vec<HostCurve>,
    /// System calls of each endpoint, in thousands a second.
    pub system_calls: Vec<HostCurve>,
    /// Drops at the receive buffers of each host, where there were any.
    pub receive_buffer_drops: Vec<HostCurve>,
    /// How often each system call was made, by endpoint and name.
    pub calls_by_name: BTreeMap<String, BTreeMap<String, u64>>,
    /// What could not be counted, and why.
    pub missing: Vec<(String, String)>,
    /// Length of a step in ns; of the longest, where they differ.
    pub step_ns: u64,
    /// Threads that are not drawn.
    pub threads_left_out: u64,
}

/// One curve: for each step its begin and its value, and at the end of the last step that value again.
#[derive(Clone, Debug, PartialEq)]
pub struct HostCurve {
    /// What it is of.
    pub name: String,
    /// Time and value.
    pub points: Vec<(u64, f64)>,
}
