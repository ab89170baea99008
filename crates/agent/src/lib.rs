//! The agent: on a Linux kernel it builds the topology, starts the endpoints, captures, and collects.
//!
//! One static binary. In the virtual testbed it is process 1 of the guest; the room knows nothing of the machine
//! around it, so that the same code can run on a host of its own.
//!
//! Read first: [`orders`] (what the agent is told), [`run`] (what it does, in order), [`report`] (what it answers).
//! Does not know: experiment files, captures' contents, metrics.

pub mod counters;
pub mod cpu;
pub mod device;
pub mod drop_list;
pub mod endpoint;
pub mod ethtool;
pub mod hand_over;
pub mod machine;
pub mod namespace;
pub mod netlink;
pub mod qdisc;
pub mod random;
pub mod root;
pub mod run;
pub mod scheduler;
pub mod send_sizes;
pub mod simulator;
pub mod tap;
pub mod thefts;
pub mod topology;
