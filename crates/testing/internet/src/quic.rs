//! Packets of QUIC that hosts without a real server send.
//!
//! Initial packets are protected with rustls' keys, so what a client cannot open was meant so.

use rand_chacha::{ChaCha8Rng, rand_core::Rng};
use ring::aead;
use rustls::quic::{Keys, Suite, Version};

/// RFC 9000 section 15.
pub(crate) const VERSION_1: u32 = 1;
/// RFC 9369.
pub(crate) const VERSION_2: u32 = 0x6b33_43cf;
/// RFC 9000 section 17.2.
const MOST_ID_BYTES: usize = 20;
/// RFC 9000 section 14.1.
pub(crate) const SMALLEST_INITIAL: usize = 1200;
/// RFC 9001 section 5.3 and 5.4.2.
const TAG_BYTES: usize = 16;
const SAMPLE_BYTES: usize = 16;
/// Packet numbers are written with their greatest length, so that a sample is always there.
const PACKET_NUMBER_BYTES: usize = 4;

/// What every version has in a long header, RFC 8999 section 5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LongHeader<'a> {
    pub(crate) first_byte: u8,
    pub(crate) version: u32,
    pub(crate) destination: &'a [u8],
    pub(crate) source: &'a [u8],
    /// What follows the connection IDs.
    pub(crate) rest: &'a [u8],
}

/// Reads the first packet of a datagram. `None` where it has no long header or ends within it.
pub(crate) fn long_header(datagram: &[u8]) -> Option<LongHeader<'_>> {
    let (&first_byte, rest) = datagram.split_first()?;
    if first_byte & 0x80 == 0 {
        return None;
    }
    let (version, rest) = rest.split_first_chunk::<4>()?;
    let (destination, rest) = with_length(rest)?;
    let (source, rest) = with_length(rest)?;
    Some(LongHeader { first_byte, version: u32::from_be_bytes(*version), destination, source, rest })
}

fn with_length(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = bytes.split_first()?;
    rest.split_at_checked(usize::from(length))
}

impl LongHeader<'_> {
    /// Whether it is an Initial packet of a version that is known here.
    pub(crate) fn is_initial(&self) -> bool {
        let is_long_enough = self.destination.len() <= MOST_ID_BYTES && self.source.len() <= MOST_ID_BYTES;
        let kind = (self.first_byte >> 4) & 0b11;
        is_long_enough && matches!((self.version, kind), (VERSION_1, 0) | (VERSION_2, 1))
    }
}

/// A Version Negotiation packet that answers `header`: RFC 9000 section 17.2.1.
pub(crate) fn version_negotiation(header: &LongHeader, versions: &[u32], random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut packet = vec![0x80 | random.next_u32() as u8, 0, 0, 0, 0];
    push_ids(&mut packet, header.source, header.destination);
    for version in versions {
        packet.extend(version.to_be_bytes());
    }
    packet
}

/// A Retry packet of version 1 that answers `header`, with a new connection ID: RFC 9000 section 17.2.5.
pub(crate) fn retry(header: &LongHeader, token: &[u8], random: &mut ChaCha8Rng) -> Option<Vec<u8>> {
    // RFC 9001 section 5.8.
    const KEY: [u8; 16] = 0xbe0c690b9f66575a1d766b54e368c84e_u128.to_be_bytes();
    const NONCE: [u8; 12] = [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];
    let mut packet = vec![0xf0 | (random.next_u32() as u8 & 0x0f)];
    packet.extend(header.version.to_be_bytes());
    push_ids(&mut packet, header.source, &new_id(random));
    packet.extend(token);
    let mut covered = vec![u8::try_from(header.destination.len()).ok()?];
    covered.extend(header.destination);
    covered.extend(&packet);
    let key = aead::LessSafeKey::new(aead::UnboundKey::new(&aead::AES_128_GCM, &KEY).ok()?);
    let nonce = aead::Nonce::assume_unique_for_key(NONCE);
    let tag = key.seal_in_place_separate_tag(nonce, aead::Aad::from(covered), &mut []).ok()?;
    packet.extend(tag.as_ref());
    Some(packet)
}

/// A connection ID of 8 bytes.
pub(crate) fn new_id(random: &mut ChaCha8Rng) -> [u8; 8] {
    random.next_u64().to_be_bytes()
}

/// The Initial keys of a connection, from the side of the server.
pub(crate) struct InitialKeys {
    keys: Keys,
    version: u32,
}

impl InitialKeys {
    /// Derives the keys from the first connection ID that a client chose for the server. `None` for unknown versions.
    pub(crate) fn new(version: u32, original_destination: &[u8]) -> Option<Self> {
        let of_rustls = match version {
            VERSION_1 => Version::V1,
            VERSION_2 => Version::V2,
            _ => return None,
        };
        Some(Self { keys: suite()?.keys(original_destination, rustls::Side::Server, of_rustls), version })
    }

    /// Packet number of a client's Initial packet that opens a datagram, as far as its header has it, which is all of it in a
    /// handshake. `None` where it cannot be read.
    pub(crate) fn packet_number(&self, header: &LongHeader) -> Option<u64> {
        let (token_bytes, rest) = integer(header.rest)?;
        let rest = rest.get(usize::try_from(token_bytes).ok()?..)?;
        let (_, rest) = integer(rest)?;
        let mut number: [u8; PACKET_NUMBER_BYTES] = *rest.first_chunk()?;
        let sample = rest.get(PACKET_NUMBER_BYTES..PACKET_NUMBER_BYTES + SAMPLE_BYTES)?;
        let mut first_byte = header.first_byte;
        self.keys.remote.header.decrypt_in_place(sample, &mut first_byte, &mut number).ok()?;
        let bytes = usize::from(first_byte & 0b11) + 1;
        Some(number[..bytes].iter().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    /// A protected Initial packet of the server, padded until it has `least_bytes`: RFC 9000 section 17.2.2. `None` where the cryptography
    /// refuses.
    pub(crate) fn initial(
        &self,
        destination: &[u8],
        source: &[u8],
        packet_number: u32,
        frames: &[u8],
        least_bytes: usize,
    ) -> Option<Vec<u8>> {
        let kind = if self.version == VERSION_2 { 1 } else { 0 };
        let mut packet = vec![0xc0 | (kind << 4) | (PACKET_NUMBER_BYTES as u8 - 1)];
        packet.extend(self.version.to_be_bytes());
        push_ids(&mut packet, destination, source);
        // No token, and a length of two bytes behind it.
        packet.push(0);
        let number_offset = packet.len() + 2;
        let overhead = number_offset + PACKET_NUMBER_BYTES + TAG_BYTES;
        let payload_bytes = frames.len().max(least_bytes.saturating_sub(overhead));
        let length =
            u16::try_from(PACKET_NUMBER_BYTES + payload_bytes + TAG_BYTES).ok().filter(|length| *length < 0x4000)?;
        packet.extend((0x4000 | length).to_be_bytes());
        packet.extend(packet_number.to_be_bytes());
        let mut payload = frames.to_vec();
        payload.resize(payload_bytes, 0);
        let tag = self.keys.local.packet.encrypt_in_place(u64::from(packet_number), &packet, &mut payload).ok()?;
        packet.extend(payload);
        packet.extend(tag.as_ref());
        let (header, protected) = packet.split_at_mut(number_offset + PACKET_NUMBER_BYTES);
        let (before, number) = header.split_at_mut(number_offset);
        self.keys.local.header.encrypt_in_place(protected.get(..SAMPLE_BYTES)?, &mut before[0], number).ok()?;
        Some(packet)
    }
}

fn suite() -> Option<Suite> {
    use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let suite = TLS13_AES_128_GCM_SHA256.tls13()?;
    Some(Suite { suite, quic: suite.quic? })
}

/// An acknowledgment of one packet, without delay: RFC 9000 section 19.3.
pub(crate) fn ack_frame(packet_number: u64) -> Vec<u8> {
    let mut frame = vec![0x02];
    push_integer(&mut frame, packet_number);
    frame.extend([0, 0, 0]);
    frame
}

/// RFC 9000 section 19.6.
pub(crate) fn crypto_frame(offset: u64, data: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x06];
    push_integer(&mut frame, offset);
    push_integer(&mut frame, data.len() as u64);
    frame.extend(data);
    frame
}

/// An error of QUIC that no frame caused: RFC 9000 section 19.19.
pub(crate) fn close_frame(code: u64, reason: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x1c];
    push_integer(&mut frame, code);
    push_integer(&mut frame, 0);
    push_integer(&mut frame, reason.len() as u64);
    frame.extend(reason);
    frame
}

/// RFC 9000 section 16. Values are below 2^62, as a description is checked for.
fn push_integer(to: &mut Vec<u8>, value: u64) {
    match value {
        0..0x40 => to.push(value as u8),
        0x40..0x4000 => to.extend((value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => to.extend((value as u32 | 0x8000_0000).to_be_bytes()),
        _ => to.extend((value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// The integer at the beginning, and what follows it.
fn integer(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = 1 << (bytes.first()? >> 6);
    let (integer, rest) = bytes.split_at_checked(length)?;
    let first = u64::from(integer[0] & 0x3f);
    Some((integer[1..].iter().fold(first, |value, byte| (value << 8) | u64::from(*byte)), rest))
}

fn push_ids(packet: &mut Vec<u8>, destination: &[u8], source: &[u8]) {
    for id in [destination, source] {
        // Both came with a length of one byte, or are shorter than that.
        packet.push(id.len() as u8);
        packet.extend(id);
    }
}

#[cfg(test)]
mod tests;
