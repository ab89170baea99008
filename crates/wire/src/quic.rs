//! QUIC: headers (RFC 9000 section 17, RFC 8999, RFC 9369), protection, frames, and what a handshake says.

mod connection;
mod connection_id;
mod fields;
mod form;
mod frames;
mod header;
mod hello;
mod initial;
mod keys;
mod packet;
mod packet_number;
mod protection;
mod tls_handshake;

pub(crate) use connection::{Buffers, Connection};
pub use connection_id::{ConnectionId, MAXIMUM_CONNECTION_ID_BYTES};
pub use form::QuicForm;
pub use frames::{Ack, ExtensionFrame, FrameError, QuicFrame, parse_frames};
pub(crate) use header::LongHeader;
pub use header::{VERSION_1, VERSION_2, long_header_form, offered_versions};
pub(crate) use hello::DEFAULT_MAX_ACK_DELAY_MS;
pub use hello::{ClientOffer, DEFAULT_ACK_DELAY_EXPONENT, ServerChoice};
pub(crate) use keys::{ProtectedPacket, SMALLEST_SHORT_PACKET};
pub use packet::{Decryption, QuicPacket};
pub use protection::CipherSuite;
pub(crate) use protection::retry_is_genuine as is_genuine_retry;
pub use tls_handshake::TlsHandshake;

/// Whether bytes with the header form bit 0 are a 1-RTT packet; `None` when too few were captured to tell.
///
/// Behind a long header the destination connection ID must be the same one, which tells a packet from padding; where that
/// ID is empty, the fixed bit must tell (RFC 9000 section 17.3.1). Elsewhere the fixed bit says nothing: peers that agreed
/// to it grease it (RFC 9287 section 3), as ngtcp2 does with itself.
pub(crate) fn looks_like_short_header(packet: &[u8], connection_id_before: Option<&[u8]>) -> Option<bool> {
    let Some(connection_id) = connection_id_before else {
        return Some(true);
    };
    if connection_id.is_empty() {
        return Some(packet[0] & 0x40 != 0);
    }
    let captured = &packet[1..packet.len().min(1 + connection_id.len())];
    if !connection_id.starts_with(captured) {
        return Some(false);
    }
    (captured.len() == connection_id.len()).then_some(true)
}

#[cfg(test)]
mod tests;
