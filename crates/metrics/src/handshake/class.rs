//! What a server's answers to a handshake are, in words and numbers that can be compared between servers: the classifier's result.

use serde::{Deserialize, Serialize};

/// How the server acknowledged the ClientHello.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstAnswer {
    /// It acknowledged in a datagram before that of its ServerHello: an instant ACK.
    Instant,
    /// It acknowledged in the datagram of its ServerHello.
    Coalesced,
    /// It acknowledged in a datagram after that of its ServerHello.
    Later,
    /// It acknowledged, and no ServerHello came.
    AckAlone,
    /// A ServerHello came, and no acknowledgment in an Initial packet.
    HelloAlone,
    /// It said that it does not speak this version.
    VersionNegotiation,
    /// It refused with CONNECTION_CLOSE, without a ServerHello.
    Closed,
    /// It sent a Retry, and nothing after it.
    RetryAlone,
    /// Nothing that was captured is an answer.
    Silent,
}

impl FirstAnswer {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            FirstAnswer::Instant => "instant",
            FirstAnswer::Coalesced => "coalesced",
            FirstAnswer::Later => "later",
            FirstAnswer::AckAlone => "ack_alone",
            FirstAnswer::HelloAlone => "hello_alone",
            FirstAnswer::VersionNegotiation => "version_negotiation",
            FirstAnswer::Closed => "closed",
            FirstAnswer::RetryAlone => "retry_alone",
            FirstAnswer::Silent => "silent",
        }
    }
}

/// One CONNECTION_CLOSE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Close {
    /// Whether the server sent it; otherwise the client did.
    pub by_server: bool,
    /// Error code.
    pub error: u64,
    /// Whether the application closed (type 0x1d), not QUIC.
    pub by_application: bool,
    /// The reason phrase, RFC 9000 section 19.19, of which what is no UTF-8 is replaced.
    pub reason: String,
}

/// How a server answered one handshake. Times are from the client's first datagram at the tap, in nanoseconds; bytes are of UDP payload.
/// `None`: it did not happen, or [`unread`](Self::unread) says why it is not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandshakeClass {
    /// How it acknowledged the ClientHello. `None` where packets before could not be read.
    pub first_answer: Option<FirstAnswer>,
    /// The first acknowledgment in an Initial packet.
    pub first_ack_ns: Option<u64>,
    /// The datagram of that acknowledgment.
    pub first_ack_bytes: Option<u64>,
    /// Whether an instant ACK was padded to at least 1200 bytes. `None` where there was none.
    pub is_ack_padded: Option<bool>,
    /// The first CRYPTO data of the server in an Initial packet.
    pub server_hello_ns: Option<u64>,
    /// Time from the first acknowledgment to the ServerHello; 0 where they are in one datagram.
    pub ack_to_hello_ns: Option<u64>,
    /// Time from the datagram that the first acknowledgment acknowledges to that acknowledgment: a round-trip time at the client's tap.
    pub first_rtt_ns: Option<u64>,
    /// ACK Delay that the server's first ACK frame in an Initial packet reports.
    pub initial_ack_delay_ns: Option<u64>,
    /// The same in a Handshake packet.
    pub handshake_ack_delay_ns: Option<u64>,
    /// Datagrams of the server before the client's next datagram behind its first flight arrived.
    pub first_flight_datagrams: Option<u64>,
    /// Their bytes.
    pub first_flight_bytes: Option<u64>,
    /// What the client sent before the server knew that its address is genuine.
    pub unvalidated_received_bytes: Option<u64>,
    /// What the server sent until then.
    pub unvalidated_sent_bytes: Option<u64>,
    /// The second of these divided by the first.
    pub amplification_factor: Option<f64>,
    /// How long the server waited because the limit of three times did not let it send (RFC 9000 section 8.1).
    pub blocked_ns: Option<u64>,
    /// Whether it sent a Retry.
    pub has_retry: bool,
    /// Version of the server's long headers, or of the client's where the server sent none.
    pub version: Option<u32>,
    /// Versions in the server's Version Negotiation packet, in its order.
    pub offered_versions: Vec<u32>,
    /// Length of the connection ID that it chose.
    pub connection_id_bytes: Option<u64>,
    /// Numbers of its transport parameters, in its order. `None` without keys.
    pub transport_parameters: Option<Vec<u64>>,
    /// What it chose of the application protocols.
    pub application_protocol: Option<String>,
    /// Its Certificate message.
    pub certificate_bytes: Option<u64>,
    /// CONNECTION_CLOSE frames that could be read, the first few.
    pub closes: Vec<Close>,
    /// Whether the handshake completed at the client: it sent a 1-RTT packet, which it does not do before (RFC 9001 section 4.1.1).
    pub is_complete: bool,
    /// Which stack the server probably is; `None` where that is not certain.
    pub stack: Option<String>,
    /// Why some of these are `None`.
    pub unread: Vec<String>,
}
