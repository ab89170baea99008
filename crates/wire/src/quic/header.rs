//! Packet headers: RFC 8999, RFC 9000 section 17, RFC 9369 section 3.

use super::connection_id::ConnectionId;
use super::fields::Fields;
use super::form::QuicForm;

/// QUIC version 1, RFC 9000 section 15.
pub const VERSION_1: u32 = 0x0000_0001;
/// QUIC version 2, RFC 9369 section 3.1.
pub const VERSION_2: u32 = 0x6b33_43cf;

/// The versions that a Version Negotiation packet offers, in its order, RFC 9000 section 17.2.1. Empty for other packets.
pub fn offered_versions(datagram: &[u8]) -> Vec<u32> {
    let mut fields = Fields::new(datagram);
    let is_one = fields.u8().is_some_and(|first| first & 0x80 != 0) && fields.u32() == Some(0);
    let has_ids = fields.take_with_length_byte().is_some() && fields.take_with_length_byte().is_some();
    if !is_one || !has_ids {
        return Vec::new();
    }
    std::iter::from_fn(|| fields.u32()).collect()
}

/// The form of a datagram's first packet, where that has a long header; `None` for others, and where the bytes are too few.
pub fn long_header_form(datagram: &[u8]) -> Option<QuicForm> {
    datagram.first().filter(|first| **first & 0x80 != 0)?;
    LongHeader::parse(datagram).map(|header| header.form)
}

/// A long header, as far as it is not protected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongHeader<'a> {
    pub(crate) form: QuicForm,
    pub(crate) version: u32,
    pub(crate) destination_connection_id: &'a [u8],
    pub(crate) source_connection_id: &'a [u8],
    /// The token of an Initial or a Retry; empty elsewhere. A Retry's ends with its integrity tag.
    pub(crate) token: &'a [u8],
    /// Where the token begins in the packet. Meaningless without one.
    pub(crate) token_offset: usize,
    /// Where the protected packet number begins. Meaningless where `packet_bytes` is `None`.
    pub(crate) packet_number_offset: usize,
    /// Bytes from the first byte of the header to the end of the packet; `None` when it fills the datagram.
    pub(crate) packet_bytes: Option<usize>,
}

impl<'a> LongHeader<'a> {
    /// `None` when the bytes end before the header, or when it is not one of versions 1, 2 and their like.
    pub(crate) fn parse(packet: &'a [u8]) -> Option<LongHeader<'a>> {
        let mut fields = Fields::new(packet);
        let first_byte = fields.u8()?;
        let version = fields.u32()?;
        let destination_connection_id = fields.take_with_length_byte()?;
        let source_connection_id = fields.take_with_length_byte()?;
        let packet_type = (first_byte >> 4) & 0b11;
        let form = match (version, packet_type) {
            // RFC 9000 section 17.2.1: the fixed bit may have any value here.
            (0, _) => QuicForm::VersionNegotiation,
            // RFC 9000 table 5; RFC 9369 section 3.2.
            (VERSION_1, 0) | (VERSION_2, 1) => QuicForm::Initial,
            (VERSION_1, 1) | (VERSION_2, 2) => QuicForm::ZeroRtt,
            (VERSION_1, 2) | (VERSION_2, 3) => QuicForm::Handshake,
            (VERSION_1, _) | (VERSION_2, _) => QuicForm::Retry,
            _ => QuicForm::UnknownVersion,
        };
        let mut header = LongHeader {
            form,
            version,
            destination_connection_id,
            source_connection_id,
            token: &[],
            token_offset: 0,
            packet_number_offset: 0,
            packet_bytes: None,
        };
        if matches!(form, QuicForm::VersionNegotiation | QuicForm::UnknownVersion) {
            return Some(header);
        }
        ConnectionId::new(destination_connection_id)?;
        if form == QuicForm::Retry {
            header.token_offset = fields.position;
            header.token = fields.rest();
            return Some(header);
        }
        if form == QuicForm::Initial {
            let token_bytes = fields.take_variable_length_integer()?;
            header.token_offset = fields.position;
            header.token = fields.take_u64(token_bytes)?;
        }
        let length = usize::try_from(fields.take_variable_length_integer()?).ok()?;
        header.packet_number_offset = fields.position;
        header.packet_bytes = Some(fields.position.checked_add(length)?);
        Some(header)
    }
}
