//! What the agent is told to do: one run, every value resolved.

use std::collections::BTreeMap;

use quiclab_experiment::run::Settings;
use quiclab_units::{ByteCount, Duration};
use serde::{Deserialize, Serialize};

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orders {
    /// Bytes credited to the guest's random pool, so that everything random there follows from the seed.
    pub entropy: Vec<u8>,
    /// From which the times follow at which the CPU is taken away: 32 bytes.
    pub theft_seed: Vec<u8>,
    /// How long the client waits once the server listens.
    #[serde(with = "quiclab_experiment::quantity")]
    pub start_shift: Duration,
    /// The network between the two hosts, what differs from a host's defaults, what is captured.
    pub settings: Settings,
    /// What is transferred.
    pub transfer: Transfer,
    /// Files both endpoints see, such as certificates.
    pub files: Vec<File>,
    /// The server.
    pub server: Program,
    /// The client.
    pub client: Program,
    /// Where the server will listen.
    pub listen: Listen,
    /// What each endpoint may write into its folder of logs.
    #[serde(with = "quiclab_experiment::quantity")]
    pub log_limit: ByteCount,
}

/// What is transferred.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// File names under the server's `WWW`, and under the client's `DOWNLOADS`.
    pub names: Vec<String>,
    /// Length of each.
    #[serde(with = "quiclab_experiment::quantity")]
    pub size: ByteCount,
    /// Seed of the first one's contents, see [`crate::workload::Contents`]; each has the number behind the one before.
    pub seed: u64,
    /// After this much virtual time the client counts as hanging.
    #[serde(with = "quiclab_experiment::quantity")]
    pub timeout: Duration,
}

/// A file to be written before the endpoints start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Absolute path in the guest.
    pub path: String,
    /// What stands in it.
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
}

/// The socket by which the agent knows that the server is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// UDP for QUIC, TCP for the baseline.
    pub transport: Transport,
    /// Port number.
    pub port: u16,
    /// How long the server may take until it listens, in virtual time.
    #[serde(with = "quiclab_experiment::quantity")]
    pub timeout: Duration,
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
