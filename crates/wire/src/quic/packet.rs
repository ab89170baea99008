//! One QUIC packet as it is handed out.

use std::ops::Range;

use super::connection_id::ConnectionId;
use super::form::QuicForm;
use super::frames::FrameError;

/// How far the protection of a packet could be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decryption {
    /// Decrypted, and its authentication tag is right.
    Verified,
    /// The capture cut the payload off, so that nothing was authenticated. The packet number is known where a packet that was decrypted,
    /// or an ACK of the peer, says which range it is in.
    HeaderOnly,
    /// No key for it, or too little captured even for the packet number.
    NoKeys,
    /// There are keys, and they do not fit.
    Failed,
    /// The packet is not protected by keys: Retry, Version Negotiation, unknown versions.
    NotProtected,
}

/// One QUIC packet of a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuicPacket {
    /// Its form.
    pub form: QuicForm,
    /// Version in a long header.
    pub version: Option<u32>,
    /// Destination connection ID, as far as its length is known: a short header does not say.
    pub destination_connection_id: Option<ConnectionId>,
    /// Source connection ID of a long header.
    pub source_connection_id: Option<ConnectionId>,
    /// Where its token lies in the UDP payload: of an Initial, or of a Retry without its integrity tag. Empty without one.
    pub token: Range<usize>,
    /// Bytes in the datagram, header and tag included.
    pub length: u32,
    /// The packet number in full; `None` where protection could not be removed, or a [cut](Decryption::HeaderOnly) packet does not show it.
    pub packet_number: Option<u64>,
    /// Key phase of a 1-RTT packet whose header protection was removed.
    pub key_phase: Option<bool>,
    /// How far the protection was removed.
    pub decryption: Decryption,
    /// Its frames in [`Observed::frames`](crate::Observed::frames).
    pub frames: Range<usize>,
    /// Where its frames stop making sense.
    pub frame_error: Option<FrameError>,
    /// A packet that ends like the token of a stateless reset of this connection.
    pub is_stateless_reset: bool,
}

impl QuicPacket {
    pub(crate) fn new(form: QuicForm, length: usize) -> Self {
        QuicPacket {
            form,
            version: None,
            destination_connection_id: None,
            source_connection_id: None,
            token: 0..0,
            length: u32::try_from(length).unwrap_or(u32::MAX),
            packet_number: None,
            key_phase: None,
            decryption: Decryption::NotProtected,
            frames: 0..0,
            frame_error: None,
            is_stateless_reset: false,
        }
    }
}
