//! Traffic from the server's host to the client's beside that of the endpoints.

use serde::{Deserialize, Serialize};

/// Port of both ends: that of the discard service, RFC 863, which no endpoint uses.
pub const PORT: u16 = 9;
/// Bytes that a tap keeps of each frame of it: the headers.
pub const SNAPLEN_BYTES: u32 = 128;

/// What is to be sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossTraffic {
    /// Protocol of the traffic, with its settings.
    pub flow: CrossFlow,
    /// Whether it goes over IPv6, and not IPv4.
    pub over_ipv6: bool,
    /// Start of the traffic, from the time at which the server listens, before the client starts.
    pub start_ns: u64,
    /// How long it lasts; `None`: until the client ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<u64>,
}

/// What kind of traffic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CrossFlow {
    /// A TCP connection that always has something to send.
    Tcp {
        /// The kernel's name of its congestion control.
        congestion_control: String,
    },
    /// Datagrams at a constant rate.
    Udp {
        /// Rate of the payload; more than 0.
        rate_bits_per_second: u64,
        /// Payload of each; more than 0.
        datagram_bytes: u32,
    },
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrossTrafficReport {
    /// Datagrams, or TCP segments with data, that the server's host sent. Retransmissions count.
    pub packets_sent: u64,
    /// Payload bytes of the datagrams; of TCP what the client's host has acknowledged.
    pub bytes_sent: u64,
    /// Datagrams, or TCP segments with data, that arrived at the client's host.
    pub packets_received: u64,
    /// Payload bytes of the datagrams; of TCP those that were new.
    pub bytes_received: u64,
    /// TCP segments that were sent again; `None` of datagrams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmissions: Option<u64>,
    /// Time from the first packet until the last was handed over.
    pub lifetime_ns: u64,
    /// Whether it ended by itself, so that what did not arrive was dropped on the way.
    pub is_complete: bool,
}
