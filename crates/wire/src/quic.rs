//! Which QUIC packets a datagram shows without keys: RFC 9000 section 17, RFC 8999, RFC 9369.

mod connection;
mod connection_id;
mod fields;
mod frames;
mod header;
mod hello;
mod keys;
mod packet;
mod packet_number;
mod protection;
mod tls_handshake;

pub(crate) use connection::{Buffers, Connection};
pub use connection_id::{ConnectionId, MAXIMUM_CONNECTION_ID_BYTES};
pub use frames::{Ack, ExtensionFrame, FrameError, QuicFrame, parse_frames};
pub(crate) use header::LongHeader;
pub use header::{VERSION_1, VERSION_2};
pub use hello::{ClientOffer, DEFAULT_ACK_DELAY_EXPONENT, ServerChoice};
pub(crate) use keys::{ProtectedPacket, SMALLEST_SHORT_PACKET};
pub use packet::{Decryption, QuicPacket};
pub use protection::CipherSuite;
pub(crate) use protection::retry_is_genuine as is_genuine_retry;
pub use tls_handshake::TlsHandshake;

/// The form of a QUIC packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum QuicForm {
    /// Long header, Initial.
    Initial,
    /// Long header, 0-RTT.
    ZeroRtt,
    /// Long header, Handshake.
    Handshake,
    /// Long header, Retry.
    Retry,
    /// Long header with version 0.
    VersionNegotiation,
    /// Short header: 1-RTT protection (or a stateless reset, which looks the same on purpose).
    OneRtt,
    /// Long header of a version this reader does not know.
    UnknownVersion,
    /// Bytes that are no QUIC packet: padding behind the packets, or another protocol.
    NotQuic,
}

impl QuicForm {
    const ALL: [QuicForm; 8] = [
        QuicForm::Initial,
        QuicForm::ZeroRtt,
        QuicForm::Handshake,
        QuicForm::Retry,
        QuicForm::VersionNegotiation,
        QuicForm::OneRtt,
        QuicForm::UnknownVersion,
        QuicForm::NotQuic,
    ];
}

/// The set of packet forms found in one datagram, read as if it were QUIC. Nothing in UDP says whether it is: that is for
/// the caller to know, from the port.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct QuicDatagram {
    bits: u8,
    complete: bool,
}

impl QuicDatagram {
    /// Whether a packet of this form was found.
    pub fn contains(self, form: QuicForm) -> bool {
        self.bits & (1 << form as u8) != 0
    }

    /// Whether the walk reached the last packet of the datagram. False when the capture ends before it, or when a packet's
    /// own length is damaged.
    pub fn is_complete(self) -> bool {
        self.complete
    }

    /// Whether the datagram carries a packet with 1-RTT protection. `None` when what was captured does not tell.
    pub fn has_one_rtt(self) -> Option<bool> {
        match (self.contains(QuicForm::OneRtt), self.complete) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        }
    }

    /// Walks the coalesced packets (RFC 9000 section 12.2) of a datagram of `payload_length` bytes, of which the capture
    /// kept `captured`. `None` when it kept nothing.
    pub(crate) fn parse(captured: &[u8], payload_length: usize) -> Option<QuicDatagram> {
        if captured.is_empty() {
            return None;
        }
        let mut datagram = QuicDatagram { bits: 0, complete: true };
        let mut offset = 0;
        let mut first_connection_id: Option<&[u8]> = None;
        while offset < payload_length {
            let Some(packet) = captured.get(offset..).filter(|rest| !rest.is_empty()) else {
                datagram.complete = false;
                break;
            };
            if packet[0] & 0x80 == 0 {
                match looks_like_short_header(packet, first_connection_id) {
                    Some(true) => datagram.insert(QuicForm::OneRtt),
                    Some(false) => datagram.insert(QuicForm::NotQuic),
                    None => datagram.complete = false,
                }
                break;
            }
            let Some(header) = LongHeader::parse(packet) else {
                // A header that does not end: cut by the capture, or no QUIC at all.
                if captured.len() < payload_length {
                    datagram.complete = false;
                } else {
                    datagram.insert(QuicForm::NotQuic);
                }
                break;
            };
            // RFC 9000 section 12.2: coalesced packets carry the same destination connection ID.
            if first_connection_id.is_some_and(|first| first != header.destination_connection_id) {
                datagram.insert(QuicForm::NotQuic);
                break;
            }
            datagram.insert(header.form);
            first_connection_id = Some(header.destination_connection_id);
            let Some(packet_bytes) = header.packet_bytes else {
                break;
            };
            let Some(next) = offset.checked_add(packet_bytes).filter(|next| *next <= payload_length) else {
                datagram.complete = false;
                break;
            };
            offset = next;
        }
        Some(datagram)
    }

    fn insert(&mut self, form: QuicForm) {
        self.bits |= 1 << form as u8;
    }
}

impl std::fmt::Debug for QuicDatagram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut set = f.debug_set();
        set.entries(QuicForm::ALL.into_iter().filter(|form| self.contains(*form)));
        if !self.complete {
            set.entry(&format_args!("cut"));
        }
        set.finish()
    }
}

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
