//! Packet protection: RFC 9001, sections 5.3 and 5.4.

use std::time::{Duration, Instant};

use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey, quic};

use crate::roofline::{
    clock::Watch,
    part::{Cost, Unmeasured},
};

/// Packets between two looks at the clock.
const BATCH: usize = 32;
/// Bytes of a short header with a connection ID of 8 bytes and a packet number of 2: what is authenticated and not encrypted.
const HEADER: usize = 11;
/// Where the packet number begins in it.
const NUMBER: usize = 9;

/// Ciphers of TLS 1.3 that QUIC has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// TLS_AES_128_GCM_SHA256.
    Aes128Gcm,
    /// TLS_AES_256_GCM_SHA384.
    Aes256Gcm,
    /// TLS_CHACHA20_POLY1305_SHA256.
    ChaCha20Poly1305,
}

impl Algorithm {
    fn of_ring(self) -> (&'static aead::Algorithm, &'static quic::Algorithm) {
        match self {
            Self::Aes128Gcm => (&aead::AES_128_GCM, &quic::AES_128),
            Self::Aes256Gcm => (&aead::AES_256_GCM, &quic::AES_256),
            Self::ChaCha20Poly1305 => (&aead::CHACHA20_POLY1305, &quic::CHACHA20),
        }
    }
}

/// Keys of one direction.
pub struct Keys {
    packet: LessSafeKey,
    header: quic::HeaderProtectionKey,
    iv: [u8; 12],
}

impl Keys {
    /// Makes keys from the three values that RFC 9001, section 5.1, derives.
    ///
    /// # Errors
    /// Where a key has not the length of its algorithm.
    pub fn new(algorithm: Algorithm, key: &[u8], iv: [u8; 12], header: &[u8]) -> Result<Self, Unmeasured> {
        let (packet, mask) = algorithm.of_ring();
        let packet = LessSafeKey::new(UnboundKey::new(packet, key).map_err(|_| Unmeasured::Ring)?);
        let header = quic::HeaderProtectionKey::new(mask, header).map_err(|_| Unmeasured::Ring)?;
        Ok(Self { packet, header, iv })
    }

    fn nonce(&self, number: u64) -> Nonce {
        let mut nonce = self.iv;
        for (byte, other) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= other;
        }
        Nonce::assume_unique_for_key(nonce)
    }

    /// Protects a packet whose last 16 bytes are room for the tag. `header`: bytes of its header; `number_at`: where the packet number
    /// begins in it.
    ///
    /// # Errors
    /// Where ring fails.
    pub fn protect(&self, packet: &mut [u8], header: usize, number_at: usize, number: u64) -> Result<(), Unmeasured> {
        let (head, rest) = packet.split_at_mut(header);
        let (payload, tag) = rest.split_at_mut(rest.len() - self.packet.algorithm().tag_len());
        let made = self.packet.seal_in_place_separate_tag(self.nonce(number), Aad::from(&head), payload);
        tag.copy_from_slice(made.map_err(|_| Unmeasured::Ring)?.as_ref());
        self.mask(packet, header, number_at)
    }

    /// Undoes it.
    ///
    /// # Errors
    /// Where the packet is not whole.
    pub fn unprotect(&self, packet: &mut [u8], header: usize, number_at: usize, number: u64) -> Result<(), Unmeasured> {
        self.mask(packet, header, number_at)?;
        let (head, rest) = packet.split_at_mut(header);
        let opened = self.packet.open_in_place(self.nonce(number), Aad::from(&head), rest);
        opened.map(drop).map_err(|_| Unmeasured::Ring)
    }

    /// Header protection, RFC 9001, section 5.4: the sample begins four bytes behind the start of the packet number.
    fn mask(&self, packet: &mut [u8], header: usize, number_at: usize) -> Result<(), Unmeasured> {
        let sample = &packet[number_at + 4..number_at + 4 + self.header.algorithm().sample_len()];
        let mask = self.header.new_mask(sample).map_err(|_| Unmeasured::Ring)?;
        let bits = if packet[0] & 0x80 == 0 { 0x1f } else { 0x0f };
        packet[0] ^= mask[0] & bits;
        for (byte, mask) in packet[number_at..header].iter_mut().zip(&mask[1..]) {
            *byte ^= mask;
        }
        Ok(())
    }
}

/// The cost of protecting packets of `packet_bytes` and of undoing it.
///
/// # Errors
/// Where ring fails.
pub fn measure(algorithm: Algorithm, packet_bytes: usize, time: Duration) -> Result<Cost, Unmeasured> {
    let (packet, _) = algorithm.of_ring();
    let key = vec![7; packet.key_len()];
    let keys = Keys::new(algorithm, &key, [3; 12], &key)?;
    let mut packets = vec![vec![0; packet_bytes.max(HEADER + 32)]; BATCH];
    let (mut seal, mut open, mut bytes, mut number) = (Watch::default(), Watch::default(), 0, 0);
    let end = Instant::now() + time;
    while Instant::now() < end {
        for packet in &mut packets {
            packet[0] = 0x41;
        }
        seal.during(|| {
            let mut all = (number..).zip(&mut packets);
            all.try_for_each(|(number, packet)| keys.protect(packet, HEADER, NUMBER, number))
        })?;
        open.during(|| {
            let mut all = (number..).zip(&mut packets);
            all.try_for_each(|(number, packet)| keys.unprotect(packet, HEADER, NUMBER, number))
        })?;
        number += BATCH as u64;
        bytes += packets.iter().map(|packet| packet.len() as u64).sum::<u64>();
    }
    Ok(Cost { send_ns_per_byte: seal.ns_per_byte(bytes), receive_ns_per_byte: open.ns_per_byte(bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
    }

    /// RFC 9001, appendix A.5: a packet with a short header and a PING, ChaCha20-Poly1305.
    #[test]
    fn the_packet_of_the_rfc_comes_out_byte_for_byte() {
        let key = bytes("c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8");
        let iv = bytes("e0459b3474bdd0e44a41c144").try_into().unwrap();
        let header = bytes("25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4");
        let keys = Keys::new(Algorithm::ChaCha20Poly1305, &key, iv, &header).unwrap();
        let mut packet = [bytes("4200bff4"), vec![1], vec![0; 16]].concat();
        keys.protect(&mut packet, 4, 1, 654_360_564).unwrap();
        assert_eq!(packet, bytes("4cfe4189655e5cd55c41f69080575d7999c25a5bfb"));
        keys.unprotect(&mut packet, 4, 1, 654_360_564).unwrap();
        assert_eq!(packet[..5], bytes("4200bff401"));
    }

    #[test]
    fn every_cipher_undoes_what_it_did_and_notices_a_changed_byte() {
        for algorithm in [Algorithm::Aes128Gcm, Algorithm::Aes256Gcm, Algorithm::ChaCha20Poly1305] {
            let key = vec![1; algorithm.of_ring().0.key_len()];
            let keys = Keys::new(algorithm, &key, [2; 12], &key).unwrap();
            let mut packet = vec![0x41; 100];
            keys.protect(&mut packet, HEADER, NUMBER, 9).unwrap();
            let mut changed = packet.clone();
            changed[60] ^= 1;
            assert!(keys.unprotect(&mut changed, HEADER, NUMBER, 9).is_err());
            keys.unprotect(&mut packet, HEADER, NUMBER, 9).unwrap();
            assert_eq!(packet[..84], [0x41; 84]);
            assert!(Keys::new(algorithm, &[1; 3], [2; 12], &key).is_err());
        }
    }
}
