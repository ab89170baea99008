//! What the two sides send each other.

use std::{collections::BTreeSet, ops::Range};

use quiclab_metrics::RttEstimate;
use quiclab_units::Duration;

/// Smallest datagram with a client's Initial packet (RFC 9000, section 14.1), and the size that servers fill.
pub const FULL_BYTES: u64 = 1200;
/// A datagram with nothing but an acknowledgment or a PING in a packet that is not padded.
pub const SMALL_BYTES: u64 = 50;
/// What a full datagram of the server has besides TLS bytes: two long headers, tags, an ACK and two CRYPTO frames.
pub const OVERHEAD_BYTES: u64 = 110;
/// TLS bytes in a full datagram.
pub const ROOM_BYTES: u64 = FULL_BYTES - OVERHEAD_BYTES;
/// A ServerHello with X25519: 90 B; with a share of ML-KEM-768, 1088 B more.
pub const SERVER_HELLO_BYTES: u64 = 90;
/// A ServerHello where the ClientHello took two datagrams, as it has a share of ML-KEM-768.
pub const LARGE_SERVER_HELLO_BYTES: u64 = SERVER_HELLO_BYTES + 1088;
/// EncryptedExtensions with transport parameters, the Certificate message without its chain, CertificateVerify with ECDSA, Finished.
pub const OTHER_HANDSHAKE_BYTES: u64 = 110 + 13 + 80 + 36;

/// Packet number spaces of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    Initial,
    Handshake,
}

/// A datagram from client to server.
#[derive(Clone, Debug, Default)]
pub struct FromClient {
    pub number: u64,
    pub bytes: u64,
    /// A part of the ClientHello.
    pub hello: Option<u32>,
    /// Numbers of the server's datagrams of which an Initial packet arrived; `None` without an ACK frame.
    pub initial_acks: Option<BTreeSet<u64>>,
    /// Numbers of the server's datagrams of which a Handshake packet arrived; `None` without an ACK frame.
    pub handshake_acks: Option<BTreeSet<u64>>,
    /// Whether the datagram has a Handshake packet, which proves the client's address (RFC 9000, section 8.1).
    pub has_handshake: bool,
    /// Finished and the first request.
    pub has_request: bool,
    /// Whether the datagram asks for an acknowledgment.
    pub is_eliciting: bool,
    /// Sent by an expired timer.
    pub is_probe: bool,
}

/// A datagram from server to client.
#[derive(Clone, Debug, Default)]
pub struct FromServer {
    pub number: u64,
    pub bytes: u64,
    /// Numbers of the client's datagrams that have arrived, in the two spaces.
    pub acks: [BTreeSet<u64>; 2],
    /// Bytes of the server's flight: ServerHello first, Handshake packets after it.
    pub flight: Option<Range<u64>>,
    /// First bytes of the response.
    pub has_response: bool,
    /// Sent by an expired timer, because of a declared loss, or because the client repeated its ClientHello.
    pub is_repeat: bool,
}

/// When a timer expires: after `pto`, doubled `count` times.
pub fn backed_off(pto: Duration, count: u32) -> Duration {
    Duration::from_nanos(pto.as_nanos().saturating_mul(1 << count.min(20)))
}

/// The probe timeout of Initial and Handshake packets; before the first sample what a stack has for it.
pub fn pto(estimate: &RttEstimate, before: Duration) -> Duration {
    if estimate.latest().is_some() { estimate.pto(Duration::ZERO) } else { before }
}
