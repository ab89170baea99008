//! Packet protection: RFC 9001 section 5, RFC 9369 section 3.3. The cryptography is ring's.

use ring::aead::quic::{self, HeaderProtectionKey};
use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf;

use super::header::VERSION_2;
use crate::role::Role;

/// RFC 9001 section 5.2.
const INITIAL_SALT_1: [u8; 20] = [
    0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f,
    0x0a,
];
/// RFC 9369 section 3.3.1.
const INITIAL_SALT_2: [u8; 20] = [
    0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9, 0xbd, 0x2e,
    0xd9,
];
/// Bytes of the tag of every AEAD in use, RFC 9001 section 5.3.
pub(crate) const TAG_BYTES: usize = 16;
/// Bytes of a key of AES-256 and ChaCha20.
const LONGEST_KEY_BYTES: usize = 32;
/// RFC 9001 section 5.4.2.
pub(crate) const SAMPLE_BYTES: usize = 16;
/// The sample begins as if the packet number had its greatest length.
const MAXIMUM_PACKET_NUMBER_BYTES: usize = 4;

/// The cipher suites of TLS 1.3 that QUIC uses, RFC 9001 section 5.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CipherSuite {
    /// `TLS_AES_128_GCM_SHA256`
    Aes128Gcm,
    /// `TLS_AES_256_GCM_SHA384`
    Aes256Gcm,
    /// `TLS_CHACHA20_POLY1305_SHA256`
    ChaCha20Poly1305,
}

impl CipherSuite {
    /// Finds a suite by its number in TLS, RFC 8446 appendix B.4. `None` for others.
    pub fn from_number(number: u16) -> Option<Self> {
        match number {
            0x1301 => Some(CipherSuite::Aes128Gcm),
            0x1302 => Some(CipherSuite::Aes256Gcm),
            0x1303 => Some(CipherSuite::ChaCha20Poly1305),
            _ => None,
        }
    }

    /// Its name in TLS.
    pub fn name(self) -> &'static str {
        match self {
            CipherSuite::Aes128Gcm => "TLS_AES_128_GCM_SHA256",
            CipherSuite::Aes256Gcm => "TLS_AES_256_GCM_SHA384",
            CipherSuite::ChaCha20Poly1305 => "TLS_CHACHA20_POLY1305_SHA256",
        }
    }

    /// Bytes of its secrets: the hash's output.
    pub(crate) fn secret_bytes(self) -> usize {
        match self {
            CipherSuite::Aes128Gcm | CipherSuite::ChaCha20Poly1305 => 32,
            CipherSuite::Aes256Gcm => 48,
        }
    }

    fn hash(self) -> hkdf::Algorithm {
        match self {
            CipherSuite::Aes128Gcm | CipherSuite::ChaCha20Poly1305 => hkdf::HKDF_SHA256,
            CipherSuite::Aes256Gcm => hkdf::HKDF_SHA384,
        }
    }

    fn aead(self) -> &'static aead::Algorithm {
        match self {
            CipherSuite::Aes128Gcm => &aead::AES_128_GCM,
            CipherSuite::Aes256Gcm => &aead::AES_256_GCM,
            CipherSuite::ChaCha20Poly1305 => &aead::CHACHA20_POLY1305,
        }
    }

    fn header_protection(self) -> &'static quic::Algorithm {
        match self {
            CipherSuite::Aes128Gcm => &quic::AES_128,
            CipherSuite::Aes256Gcm => &quic::AES_256,
            CipherSuite::ChaCha20Poly1305 => &quic::CHACHA20,
        }
    }
}

/// A traffic secret with what is derived from it.
pub(crate) struct Secret {
    suite: CipherSuite,
    version: u32,
    bytes: Vec<u8>,
}

/// Removes the protection of packets of one sender at one encryption level and key phase.
pub(crate) struct PacketKey {
    key: LessSafeKey,
    iv: [u8; aead::NONCE_LEN],
}

/// What removing header protection shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unmasked {
    pub(crate) first_byte: u8,
    pub(crate) truncated_packet_number: u64,
    /// 1 to 4.
    pub(crate) packet_number_bytes: usize,
}

/// Removes header protection; the same for all key phases, RFC 9001 section 6.1.
pub(crate) struct HeaderKey {
    key: HeaderProtectionKey,
    /// Which bits of a short header's first byte are protected.
    short_bits: u8,
}

/// RFC 9001 section 5.4.1: spin bit and what is before it are not protected.
const SHORT_BITS: u8 = 0x1f;
/// draft-ferrieux-hamchaoui-quic-lossbits: what RFC 9000 has reserved is for observers, and not protected.
const SHORT_BITS_BESIDE_LOSS_BITS: u8 = 0x07;

struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF-Expand-Label of RFC 8446 section 7.1 without context, as long as `output`. `None` where the lengths do not allow it.
fn expand_label<'a>(secret: &hkdf::Prk, label: &str, output: &'a mut [u8]) -> Option<&'a [u8]> {
    let output_length = u16::try_from(output.len()).ok()?.to_be_bytes();
    let label_length = [u8::try_from("tls13 ".len() + label.len()).ok()?];
    let info: [&[u8]; 5] = [&output_length, &label_length, b"tls13 ", label.as_bytes(), &[0]];
    secret.expand(&info, Length(output.len())).ok()?.fill(output).ok()?;
    Some(output)
}

/// The Initial secret of a sender: RFC 9001 section 5.2.
pub(crate) fn initial_secret(version: u32, destination_connection_id: &[u8], sender: Role) -> Option<Secret> {
    let salt = if version == VERSION_2 { INITIAL_SALT_2 } else { INITIAL_SALT_1 };
    let initial = hkdf::Salt::new(hkdf::HKDF_SHA256, &salt).extract(destination_connection_id);
    let label = match sender {
        Role::Client => "client in",
        Role::Server => "server in",
    };
    let suite = CipherSuite::Aes128Gcm;
    let mut bytes = vec![0; suite.secret_bytes()];
    expand_label(&initial, label, &mut bytes)?;
    Some(Secret { suite, version, bytes })
}

impl Secret {
    /// `None` when its length is not that of the suite.
    pub(crate) fn new(suite: CipherSuite, version: u32, bytes: &[u8]) -> Option<Self> {
        (bytes.len() == suite.secret_bytes()).then(|| Secret { suite, version, bytes: bytes.to_vec() })
    }

    /// What is derived from it. Making it costs as much as deriving one key.
    fn derivation(&self) -> Derivation<'_> {
        Derivation { secret: self, key: hkdf::Prk::new_less_safe(self.suite.hash(), &self.bytes) }
    }

    /// Both keys.
    pub(crate) fn keys(&self) -> Option<(HeaderKey, PacketKey)> {
        let derivation = self.derivation();
        Some((derivation.header_key()?, derivation.packet_key()?))
    }

    /// The key of the phase that this secret is for.
    pub(crate) fn packet_key(&self) -> Option<PacketKey> {
        self.derivation().packet_key()
    }

    /// The secret behind a key update, RFC 9001 section 6.1.
    pub(crate) fn next(&self) -> Option<Secret> {
        let mut bytes = vec![0; self.suite.secret_bytes()];
        self.derivation().expand("quic ku", "quicv2 ku", &mut bytes)?;
        Some(Secret { suite: self.suite, version: self.version, bytes })
    }
}

struct Derivation<'a> {
    secret: &'a Secret,
    key: hkdf::Prk,
}

impl Derivation<'_> {
    /// Version 2 has labels of its own, RFC 9369 section 3.3.2.
    fn expand<'a>(&self, label: &str, label_2: &str, output: &'a mut [u8]) -> Option<&'a [u8]> {
        expand_label(&self.key, if self.secret.version == VERSION_2 { label_2 } else { label }, output)
    }

    fn packet_key(&self) -> Option<PacketKey> {
        let algorithm = self.secret.suite.aead();
        let (mut key, mut iv) = ([0; LONGEST_KEY_BYTES], [0; aead::NONCE_LEN]);
        let key = self.expand("quic key", "quicv2 key", key.get_mut(..algorithm.key_len())?)?;
        self.expand("quic iv", "quicv2 iv", &mut iv)?;
        Some(PacketKey { key: LessSafeKey::new(UnboundKey::new(algorithm, key).ok()?), iv })
    }

    fn header_key(&self) -> Option<HeaderKey> {
        let algorithm = self.secret.suite.header_protection();
        let mut key = [0; LONGEST_KEY_BYTES];
        let key = self.expand("quic hp", "quicv2 hp", key.get_mut(..algorithm.key_len())?)?;
        Some(HeaderKey { key: HeaderProtectionKey::new(algorithm, key).ok()?, short_bits: SHORT_BITS })
    }
}

impl HeaderKey {
    /// Makes the key for a sender of loss bits.
    pub(crate) fn beside_loss_bits(self) -> Self {
        HeaderKey { short_bits: SHORT_BITS_BESIDE_LOSS_BITS, ..self }
    }

    /// Removes the header protection of a packet, given from its first byte on; `None` when too little of it is there. RFC 9001 section
    /// 5.4.1.
    pub(crate) fn unmask(&self, packet: &[u8], packet_number_offset: usize) -> Option<Unmasked> {
        let sample_offset = packet_number_offset.checked_add(MAXIMUM_PACKET_NUMBER_BYTES)?;
        let sample = packet.get(sample_offset..sample_offset.checked_add(SAMPLE_BYTES)?)?;
        let mask = self.key.new_mask(sample).ok()?;
        let is_long = packet[0] & 0x80 != 0;
        let first_byte = packet[0] ^ (mask[0] & if is_long { 0x0f } else { self.short_bits });
        let packet_number_bytes = usize::from(first_byte & 0b11) + 1;
        let protected = &packet[packet_number_offset..packet_number_offset + packet_number_bytes];
        let truncated_packet_number =
            protected.iter().zip(&mask[1..]).fold(0, |number, (byte, mask)| (number << 8) | u64::from(byte ^ mask));
        Some(Unmasked { first_byte, truncated_packet_number, packet_number_bytes })
    }
}

impl PacketKey {
    /// Decrypts a whole packet in place: `packet` from its first byte to its last. Gives the range of the payload, or
    /// `None` when its tag does not fit, and then `packet` is garbage. RFC 9001 section 5.3.
    pub(crate) fn open(
        &self,
        packet: &mut [u8],
        packet_number_offset: usize,
        unmasked: &Unmasked,
        packet_number: u64,
    ) -> Option<std::ops::Range<usize>> {
        let header_bytes = packet_number_offset + unmasked.packet_number_bytes;
        if packet.len() < header_bytes + TAG_BYTES {
            return None;
        }
        let (header, payload) = packet.split_at_mut(header_bytes);
        header[0] = unmasked.first_byte;
        let number = unmasked.truncated_packet_number.to_be_bytes();
        header[packet_number_offset..].copy_from_slice(&number[number.len() - unmasked.packet_number_bytes..]);
        let mut nonce = self.iv;
        for (byte, number) in nonce[4..].iter_mut().zip(packet_number.to_be_bytes()) {
            *byte ^= number;
        }
        let nonce = Nonce::assume_unique_for_key(nonce);
        let length = self.key.open_in_place(nonce, Aad::from(&*header), payload).ok()?.len();
        Some(header_bytes..header_bytes + length)
    }
}

/// Whether a Retry packet answers an Initial with this destination connection ID: RFC 9001 section 5.8, RFC 9369 section
/// 3.3.3.
pub(crate) fn retry_is_genuine(packet: &[u8], version: u32, original_destination_connection_id: &[u8]) -> bool {
    const KEY_1: [u8; 16] =
        [0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e];
    const NONCE_1: [u8; 12] = [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];
    const KEY_2: [u8; 16] =
        [0x8f, 0xb4, 0xb0, 0x1b, 0x56, 0xac, 0x48, 0xe2, 0x60, 0xfb, 0xcb, 0xce, 0xad, 0x7c, 0xcc, 0x92];
    const NONCE_2: [u8; 12] = [0xd8, 0x69, 0x69, 0xbc, 0x2d, 0x7c, 0x6d, 0x99, 0x90, 0xef, 0xb0, 0x4a];
    let (key, nonce) = if version == VERSION_2 { (KEY_2, NONCE_2) } else { (KEY_1, NONCE_1) };
    let Some(covered_bytes) = packet.len().checked_sub(TAG_BYTES) else {
        return false;
    };
    let Ok(id_bytes) = u8::try_from(original_destination_connection_id.len()) else {
        return false;
    };
    let Ok(key) = UnboundKey::new(&aead::AES_128_GCM, &key) else {
        return false;
    };
    let pseudo_packet = [&[id_bytes], original_destination_connection_id, &packet[..covered_bytes]].concat();
    let mut tag = packet[covered_bytes..].to_vec();
    let nonce = Nonce::assume_unique_for_key(nonce);
    LessSafeKey::new(key).open_in_place(nonce, Aad::from(pseudo_packet), &mut tag).is_ok()
}

#[cfg(test)]
mod tests;
