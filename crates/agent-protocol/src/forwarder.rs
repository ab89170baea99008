//! The forwarder: the agent itself moves packets between the hosts, in user space, through stages of the path model.

use quiclab_path::spec::StageSpec;
use serde::{Deserialize, Serialize};

use crate::stage::StageSeen;

/// What the forwarder is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forwarder {
    /// The stages towards the client, in order.
    pub to_client: Vec<StageSpec>,
    /// The stages towards the server.
    pub to_server: Vec<StageSpec>,
    /// The random numbers of all stages follow from it, as in the simulator.
    pub seed: u64,
    /// The server's port, where a stage asks what packets hold, so that the forwarder has to read them; `None` where no stage does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads_packets_of_port: Option<u16>,
    /// How it keeps up with a real clock. `None` in virtual time: each frame is sent by itself, and a super-packet fails the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_time: Option<RealTime>,
}

/// How a forwarder keeps up with a real clock. Super-packets (UDP and TCP, IPv4 and IPv6) pass whole or are cut into packets, as the stages
/// of their direction need, and frames that are due together are sent by one system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RealTime {
    /// The forwarder sleeps until this long before a packet is due, and watches the clock from then on; with 0 it only sleeps. Watching
    /// keeps a core busy, and sleeping makes packets later by the time in which the kernel wakes up a thread.
    pub spin_ns: u64,
    /// Bytes of the longest frame that can come in, super-packets included. The shorter it is, the more frames have room while the
    /// forwarder does not run: 40,320 of 1514 bytes, 960 super-packets. A longer frame fails the run.
    pub largest_frame_bytes: u32,
}

/// Bytes of the longest super-packet: the longest packet of IP and its Ethernet header.
pub const LARGEST_SUPER_PACKET_BYTES: u32 = 65_535 + 40 + 14;

impl Default for RealTime {
    fn default() -> Self {
        Self { spin_ns: 50_000, largest_frame_bytes: LARGEST_SUPER_PACKET_BYTES }
    }
}

/// What the forwarder did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForwarderReport {
    /// The stages towards the client, as the pipeline has them: a rate and its queue are one. Only the last one counts bytes.
    pub to_client: Vec<StageSeen>,
    /// The stages towards the server.
    pub to_server: Vec<StageSeen>,
    /// The first packets that were dropped, in the order of time; at most [`MOST_DROPS`].
    pub drops: Vec<Drop>,
    /// Packets that were dropped beyond those.
    pub drops_not_listed: u64,
    /// How late packets left; `None` where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Lateness>,
    /// Whether its thread ran with a real-time priority, before the endpoints.
    pub is_realtime: bool,
    /// Super-packets that came in; `None` where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub super_packets: Option<SuperPackets>,
}

/// Frames of many packets each, which hosts leave to their cards to cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuperPackets {
    /// Frames that passed whole. Stages and [`Lateness`] count each as one packet.
    pub whole: u64,
    /// Frames that were cut where they came in.
    pub cut: u64,
    /// The packets that they became.
    pub packets: u64,
}

/// Most drops that are listed; more are only counted.
pub const MOST_DROPS: usize = 10_000;
/// Bytes of all words of listed drops together. With it the list fits into the manifest of a slot.
pub const MOST_DROP_WORDS: usize = 300 << 10;
/// Bytes of the words of one drop.
pub const LONGEST_DROP_WORDS: usize = 400;

/// A packet that was dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drop {
    /// When, since the forwarder started.
    pub time_ns: u64,
    /// Whether it was on its way to the client; otherwise to the server.
    pub to_client: bool,
    /// Place of the stage in the list of its direction in [`ForwarderReport`].
    pub stage: u32,
    /// Why, such as `queue_full`.
    pub cause: String,
    /// Its place among the packets that entered this direction of the path, from 1.
    pub packet: u64,
    /// Length of its frame.
    pub bytes: u32,
    /// The connection that it belongs to, from 1; `None` where packets were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<u32>,
    /// Its place among its sender's datagrams on that connection, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagram: Option<u64>,
    /// What it held, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// How much later than planned packets left the path, in nanoseconds. A super-packet that passed whole counts as one. The median and the 99th percentile are exact to 1/32 of their value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lateness {
    /// Packets that left.
    pub packets: u64,
    /// Half of them were at most this late.
    pub median_ns: u64,
    /// 99 of 100 were at most this late.
    pub percentile_99_ns: u64,
    /// The latest one.
    pub largest_ns: u64,
}
