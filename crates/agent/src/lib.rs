//! The agent: on a Linux kernel it builds the topology, starts the endpoints, captures, and collects.
//!
//! It has two lives. [`init`] is process 1 of the virtual testbed's guest and owns the whole machine. [`serve`] runs on a host,
//! takes orders on standard input, works in namespaces of its own, and leaves nothing behind. What both do is [`run`]. Besides, [`probe`] says
//! what a host allows.
//!
//! Read first: `quiclab_agent_protocol` (what the agent is told, and what it answers), [`run`] (what it does, in order).
//! Does not know: experiment files, captures' contents, metrics.

pub mod activity;
mod bpf;
pub mod capabilities;
pub mod clock;
pub mod counters;
pub mod cpu;
pub mod cross_traffic;
pub mod drop_list;
pub mod endpoint;
pub mod ethtool;
pub mod forwarder;
pub mod hand_over;
pub mod host;
pub mod init;
pub mod jail;
pub mod log_names;
pub mod namespace;
pub mod netlink;
mod packet_socket;
mod perf_event;
pub mod probe;
pub mod profile;
pub mod qdisc;
pub mod root;
pub mod run;
pub mod sandbox;
pub mod serve;
pub mod settling;
pub mod simulator;
mod sysctl;
pub mod tap;
pub mod topology;
