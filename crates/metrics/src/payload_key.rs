//! What tells one datagram from another at two taps.

use std::hash::Hasher;

use quiclab_wire::Segment;
use rustc_hash::FxHasher;

/// Payloads shorter than this may repeat themselves.
const SMALLEST_UNIQUE_BYTES: usize = 21;
/// Bytes at the front that are looked at: as many as the shortest snap length (128 B) keeps behind the headers of IPv6. They reach behind
/// a long header with two connection IDs of 20 bytes, in which two packets of a flight differ by nothing that is visible.
const TELLING_BYTES: usize = 64;

/// Finds the same datagram at another tap: a hash of the first bytes of the payload, and its length on the wire. Behind a
/// QUIC header they are encrypted, so no two packets share them, unless a token makes the header of an Initial packet longer; a TCP segment that is sent again has the key of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PayloadKey(u64, u32);

impl PayloadKey {
    /// Made up.
    #[cfg(test)]
    pub(crate) fn numbered(number: u64) -> PayloadKey {
        PayloadKey(number, 0)
    }

    /// `None` where too little of the payload was captured, or there is too little of it.
    pub fn of(segment: &Segment) -> Option<PayloadKey> {
        let telling = segment.payload.len().min(TELLING_BYTES);
        // A cut payload would have another hash than a whole one.
        let is_enough = telling == TELLING_BYTES || telling == segment.payload_length as usize;
        if telling < SMALLEST_UNIQUE_BYTES || !is_enough {
            return None;
        }
        let mut hasher = FxHasher::default();
        hasher.write(&segment.payload[..telling]);
        Some(PayloadKey(hasher.finish(), segment.payload_length))
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use quiclab_units::Time;
    use quiclab_wire::Transport;

    use super::*;

    fn key(payload: &[u8], length: u32) -> Option<PayloadKey> {
        let address = SocketAddr::from(([10, 0, 0, 1], 443));
        PayloadKey::of(&Segment {
            time: Time::default(),
            interface: 0,
            frame_length: length + 42,
            captured_length: payload.len() as u32 + 42,
            source: address,
            destination: address,
            payload_length: length,
            payload,
            ecn: 0,
            transport: Transport::Udp,
        })
    }

    #[test]
    fn a_cut_copy_has_the_key_of_the_whole_packet() {
        let payload: Vec<u8> = (0..100).collect();
        assert!(key(&payload, 100).is_some());
        assert_eq!(key(&payload[..66], 100), key(&payload, 100));
        assert_ne!(key(&payload[1..], 99), key(&payload, 100));
        assert_ne!(key(&payload[..66], 101), key(&payload, 100), "another length is another packet");
        assert_eq!(key(&payload[..63], 100), None, "cut too short to be compared");
        assert!(key(&payload[..30], 30).is_some(), "short, but whole");
        assert_eq!(key(&payload[..20], 20), None, "too short to be unique");
    }

    /// Two Handshake packets of a flight, with the longest connection IDs: the first byte, version, both IDs and the length are the same.
    #[test]
    fn packets_with_long_connection_ids_differ() {
        let mut one = vec![0xed, 0, 0, 0, 1, 20];
        one.extend([7; 20]);
        one.push(20);
        one.extend([8; 20]);
        one.extend([0x44, 0x80]);
        let mut other = one.clone();
        one.extend([1; 60]);
        other.extend([2; 60]);
        assert_ne!(key(&one, 1200), key(&other, 1200));
    }
}
