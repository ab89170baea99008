//! One run, fully resolved: no default is left open.

use std::collections::BTreeMap;

use quiclab_units::{ByteCount, Duration, Rate};
use serde::{Deserialize, Serialize};

/// One transfer on one testbed, with every setting that can change its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Name of the experiment this run belongs to, for example `quic-steps/baseline`.
    pub experiment: String,
    /// Which repetition this is, from 1. Repetitions differ by their seed only.
    pub repetition: u32,
    /// Everything random in the run is derived from this number.
    pub seed: u64,
    /// Shift of the start of the transfer, drawn from the seed, 0 to 100 ms.
    pub start_shift: Duration,
    /// The settings.
    pub settings: Settings,
}

/// Every setting of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub kernel: String,
    pub stack: StackSettings,
    pub workload: Workload,
    pub path: Path,
    pub hosts: Hosts,
    pub tap: Tap,
    pub analysis: Analysis,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackSettings {
    /// Folder under `stacks/`, serves both roles.
    pub name: String,
    pub congestion_control: String,
    pub gso: Gso,
    pub pacing: Pacing,
    pub http: Http,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gso { Off, On }

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pacing { Off, User, Txtime }

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Http { H3, Hq, H2 }

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    pub size: ByteCount,
    /// Virtual time after which the client counts as hanging.
    pub timeout: Duration,
}

/// The bottleneck: token bucket with a netem child towards the client, netem towards the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    pub rate: Rate,
    pub burst: ByteCount,
    pub delay_to_client: Duration,
    pub delay_to_server: Duration,
    /// Packets, delay line and queue together.
    pub queue_limit_packets: u32,
    /// Packets in the delay line towards the server.
    pub return_limit_packets: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    pub server_qdisc: Qdisc,
    pub udp_receive_buffer: ByteCount,
    pub udp_send_buffer: ByteCount,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Qdisc {
    None,
    PfifoFast,
    Fq { flow_limit_packets: u32 },
    FqCodel,
    Etf { delta: Duration },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tap {
    /// Off leaves the wire unseen: only for measuring what capturing costs.
    pub enabled: bool,
    /// Bytes kept of each packet at the sender's tap; `None` keeps all.
    pub snaplen: Option<ByteCount>,
    /// Bytes kept at the tap behind the bottleneck.
    pub bottleneck_snaplen: Option<ByteCount>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Analysis {
    pub train_threshold: Duration,
}

/// What a run was made with: name -> identity (hash or version), from the testbed. Part of the run id.
pub type Versions = BTreeMap<String, String>;
