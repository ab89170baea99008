//! What quiclab and an agent on another host say to each other: lines of JSON over one ssh session.
//!
//! The agent speaks first: [`Answer::Hello`] or [`Answer::Locked`]. Then each [`Request`] is answered by one [`Answer`], apart from the
//! events that a run brings by itself: [`Answer::Ended`], [`Answer::ServerGone`], [`Answer::PathFailed`]. An empty line says that quiclab is
//! still there; an agent that has heard nothing for [`LONGEST_SILENCE_SECONDS`] undoes everything and ends.

use serde::{Deserialize, Serialize};

use crate::{orders::Orders, slot::Manifest};

/// Changes whenever the two sides would misunderstand each other.
pub const PROTOCOL: u32 = 3;
/// How often quiclab says that it is still there, in seconds.
pub const HEARTBEAT_SECONDS: u64 = 5;
/// Seconds without a word after which an agent takes quiclab for dead.
pub const LONGEST_SILENCE_SECONDS: u64 = 30;
/// UDP port at which the server's agent answers while clocks are being compared.
pub const CLOCK_PORT: u16 = 4432;

/// What quiclab asks of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Asks it to read its clock.
    Clock,
    /// Which of these folders it does not have.
    Missing {
        /// Their names.
        names: Vec<String>,
    },
    /// Asks it to store a folder. Its archive, as tar, follows the line.
    Store {
        /// The folder's name.
        name: String,
        /// Length of the archive.
        bytes: u64,
    },
    /// Asks it to build its part of a run. What follows until [`Request::Finish`] or [`Request::Abort`] is about this run.
    Begin(Box<Part>),
    /// The server: to answer at [`CLOCK_PORT`].
    Echo,
    /// The client: to exchange packets with the server's agent.
    Compare {
        /// How many.
        exchanges: u32,
    },
    /// The sniffer: to listen to the packets that the others exchange from now on.
    Overhear,
    /// The sniffer: to say what it heard of them, as [`Answer::Exchanges`] with its own times instead of the client's.
    Overheard,
    /// Asks it to install queues, to switch offloads off and to start the taps.
    Shape,
    /// The server's host: to begin to sample what it does. The client's host does so by itself.
    Sample,
    /// The server's host: to take the last sample, because the client has ended.
    StopSampling,
    /// The server: to start, until it listens.
    Listen,
    /// The wire: to start the forwarder.
    Forward,
    /// The client: to start. [`Answer::Ended`] comes when it has ended.
    Fetch,
    /// The client: to end, because something else has failed.
    Stop,
    /// The wire: to wait until its queues are empty.
    Drain,
    /// Asks it to end the endpoint, stop the taps, read all counters, and take away what shapes the path: clocks can be compared again.
    Settle,
    /// Asks it to end the run, and to hand over what there is.
    Finish,
    /// Asks it to end the run at once. Always answered by [`Answer::Aborted`].
    Abort,
}

/// What an agent answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The first word.
    Hello(Box<HostFacts>),
    /// The first word, and the last one: another quiclab uses this host.
    Locked {
        /// Who, in words; `None` where that cannot be found out.
        by: Option<String>,
    },
    /// The clock.
    Clock {
        /// `CLOCK_REALTIME` when the request was read.
        time_ns: u64,
    },
    /// The folders that are not there.
    Missing {
        /// Their names.
        names: Vec<String>,
    },
    /// It is done.
    Done,
    /// It cannot be done. A run ends with this.
    Failed {
        /// Why.
        error: String,
    },
    /// Packets exchanged with the server's agent.
    Exchanges {
        /// The exchanges in the order in which their packets were sent; those that were lost are absent.
        exchanges: Vec<Exchange>,
    },
    /// What became of the server's start.
    Started {
        /// What came first.
        readiness: Readiness,
    },
    /// The client has ended, or was ended.
    Ended,
    /// The server has ended before it was told to.
    ServerGone,
    /// The forwarder has failed.
    PathFailed,
    /// What a run left. The bytes of its blobs follow the line; their offsets count from the end of the line.
    Results(Box<Manifest>),
    /// There is no run any more.
    Aborted,
}

/// What a server did first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// It listens.
    Listens,
    /// It ended.
    Ended,
    /// Nothing, in all the time it had.
    Neither,
}

/// One packet to the server's agent and back. All times are those of `CLOCK_REALTIME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// When it left, by the client's clock.
    pub sent_ns: u64,
    /// When it arrived, by the server's clock.
    pub arrived_ns: u64,
    /// When the answer left, by the server's clock.
    pub answered_ns: u64,
    /// When the answer arrived, by the client's clock.
    pub received_ns: u64,
}

/// What one host does in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// What it is.
    pub place: PlaceOfHost,
    /// The run.
    pub orders: Orders,
    /// Link-layer address of the server, in this run.
    pub server_mac: [u8; 6],
    /// Link-layer address of the client.
    pub client_mac: [u8; 6],
    /// Whether another host captures what the server sends.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_sniffer: bool,
    /// The CPUs that the run may use here; none for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<usize>,
}

/// Where a host is in the network of a run, with its interfaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PlaceOfHost {
    /// The server, and what shapes the path.
    ServerAndWire {
        /// Its interface towards the client.
        to_client: String,
    },
    /// The server.
    Server {
        /// Its interface.
        interface: String,
    },
    /// What lies between.
    Wire {
        /// Its interface towards the server.
        to_server: String,
        /// Its interface towards the client.
        to_client: String,
    },
    /// The client.
    Client {
        /// Its interface.
        interface: String,
    },
    /// It only captures what the server's interface sends and receives.
    Sniffer {
        /// Its interface, at a mirror port.
        interface: String,
    },
}

impl PlaceOfHost {
    /// Whether the server runs there.
    pub fn has_server(&self) -> bool {
        matches!(self, Self::ServerAndWire { .. } | Self::Server { .. })
    }

    /// Whether the client runs there.
    pub fn has_client(&self) -> bool {
        matches!(self, Self::Client { .. })
    }

    /// Whether it shapes the path.
    pub fn has_wire(&self) -> bool {
        matches!(self, Self::ServerAndWire { .. } | Self::Wire { .. })
    }

    /// Its interfaces.
    pub fn interfaces(&self) -> Vec<&str> {
        match self {
            Self::ServerAndWire { to_client } => vec![to_client],
            Self::Server { interface } | Self::Client { interface } | Self::Sniffer { interface } => vec![interface],
            Self::Wire { to_server, to_client } => vec![to_server, to_client],
        }
    }
}

/// What a host is, and what it can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// [`PROTOCOL`] of the agent.
    pub protocol: u32,
    /// The agent's version.
    pub version: String,
    /// Name of the host.
    pub name: String,
    /// Where the agent stores files, as an absolute path.
    pub folder: String,
    /// Whether the agent is root.
    pub is_root: bool,
    /// Release and version of the kernel.
    pub kernel: String,
    /// Number and model of the CPUs.
    pub cpus: String,
    /// Default receive and send buffer of a socket, in bytes.
    pub socket_buffers: String,
    /// Congestion control algorithms of TCP that the kernel has.
    pub tcp_available: Vec<String>,
    /// Algorithms of these that new network namespaces may choose.
    pub tcp_allowed: Vec<String>,
    /// Queueing disciplines that the kernel does not have, by its own names for them.
    pub missing_disciplines: Vec<String>,
    /// Why the kernel cannot give a run its namespaces; `None` where it can.
    pub no_namespaces: Option<String>,
    /// Its network interfaces, in order of name.
    pub interfaces: Vec<InterfaceFacts>,
    /// What disciplines its clock.
    pub clock: ClockFacts,
    /// Bytes free where the agent stores files.
    pub free_bytes: u64,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceFacts {
    /// Its name.
    pub name: String,
    /// Its link-layer address.
    pub mac: String,
    /// Bytes of its longest packet.
    pub mtu: u32,
    /// Whether its link is up.
    pub is_up: bool,
    /// Its driver; `None` where it does not say.
    pub driver: Option<String>,
    /// Number of the card's own clock (`/dev/ptpN`); `None` where it has none.
    pub ptp_clock: Option<u32>,
    /// Its speed in Mbit/s; `None` where it does not say.
    #[serde(default)]
    pub speed_mbps: Option<u32>,
    /// Whether the card stamps the packets that it sends and receives.
    pub has_hardware_stamps: bool,
    /// Whether it does so at present (`SIOCGHWTSTAMP`); `None` where it cannot say.
    #[serde(default)]
    pub stamps_now: Option<bool>,
    /// Why the card does not send packets at given times (`tc etf offload`); `None` where it does.
    pub no_launch_time: Option<String>,
}

/// What is known of a host's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockFacts {
    /// Whether the kernel takes it for synchronised (`adjtimex`).
    pub is_synchronised: bool,
    /// Its largest error, as the kernel estimates it, in microseconds.
    pub largest_error_us: u64,
    /// The clocks of cards that there are: `ptp0: NAME`.
    pub ptp_clocks: Vec<String>,
    /// Programs that run and set it, such as `ptp4l`, `phc2sys` or `chronyd (reference: PHC /dev/ptp0)`.
    #[serde(default)]
    pub kept_by: Vec<String>,
}
