//! What `quiclab perf` does.

use std::path::PathBuf;

use crate::{Direction, Load, Sizes};

use quiclab_units::{ByteCount, Rate};

/// The ends of a test, what they do, and how it is shown.
#[derive(Clone, Debug)]
pub struct PerfSettings {
    /// This machine has the server, for a client elsewhere.
    pub server: bool,
    /// Host of a server elsewhere; `None`: both ends are here.
    pub client: Option<String>,
    /// UDP or TCP port of the server.
    pub port: u16,
    /// Addresses are of IPv6.
    pub ipv6: bool,
    /// Length of a test in seconds.
    pub seconds: f64,
    /// Bytes of a connection instead of a time.
    pub bytes: Option<ByteCount>,
    /// Streams of a connection.
    pub streams: u64,
    /// Connections at the same time.
    pub connections: u64,
    /// The server sends.
    pub reverse: bool,
    /// Both ends send.
    pub bidir: bool,
    /// Requests per second are measured.
    pub rps: bool,
    /// Bytes of a request.
    pub request: ByteCount,
    /// Bytes of a response.
    pub response: ByteCount,
    /// Handshakes per second are measured.
    pub hps: bool,
    /// Seconds between two rows.
    pub interval: f64,
    /// Number of tests.
    pub repeat: u64,
    /// The limits of this machine are measured too.
    pub roofline: bool,
    /// File of a picture of these limits.
    pub svg: Option<PathBuf>,
    /// Name or path of the stack of the server.
    pub stack: String,
    /// Name or path of that of the client; `None`: the same.
    pub client_stack: Option<String>,
    /// TCP without TLS takes the place of a stack.
    pub tcp: bool,
    /// Datagrams without a stack.
    pub udp: bool,
    /// Rate of datagrams without a stack.
    pub rate: Rate,
    /// Bytes of each of them.
    pub length: u16,
    /// Congestion control of the stacks.
    pub congestion_control: Option<String>,
    /// Segmentation offload of the stacks.
    pub gso: Option<String>,
    /// Who spaces the packets.
    pub pacing: Option<String>,
    /// Largest IP packet in bytes.
    pub mtu: Option<u16>,
    /// Processors of both ends.
    pub cpus: Option<Cpus>,
    /// SHA-256 of the server's certificate.
    pub pin: Option<String>,
    /// The server's certificate is not verified.
    pub insecure: bool,
    /// File of the certificate authority to trust.
    pub authority: Option<PathBuf>,
    /// Name in the server's certificate.
    pub server_name: Option<String>,
    /// Folder of the shipped stacks.
    pub folder: Option<PathBuf>,
    /// Stacks are built again.
    pub rebuild: bool,
    /// JSON is printed instead of tables.
    pub json: bool,
}

/// Where ends run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// The server.
    pub server: usize,
    /// The clients.
    pub clients: usize,
}

impl PerfSettings {
    /// The load of both ends.
    pub fn load(&self) -> Load {
        let sizes = Sizes { request_bytes: self.request.as_bytes(), response_bytes: self.response.as_bytes() };
        match self {
            Self { bidir: true, .. } => Load::Bidirectional,
            Self { rps: true, .. } => Load::Requests(sizes),
            Self { hps: true, .. } => Load::Handshakes,
            Self { reverse: true, .. } => Load::Bulk(Direction::ServerSends),
            _ => Load::Bulk(Direction::ClientSends),
        }
    }
}
