//! A key update that the library makes by itself, early.
//!
//! The library has no function for it: it updates keys when they have protected so many packets that the AEAD's limit
//! of confidentiality (RFC 9001, section 6.6) is near. So here is a cipher suite whose first keys have a low limit.

use std::sync::{
    LazyLock,
    atomic::{AtomicUsize, Ordering},
};

use rustls::{
    Error, SupportedCipherSuite, Tls13CipherSuite,
    crypto::{
        aws_lc_rs,
        cipher::{AeadKey, Iv},
    },
    quic::{Algorithm, HeaderProtectionKey, PacketKey, Tag},
};

/// Packets before the limit at which the library updates: `KEY_UPDATE_WINDOW` of s2n-quic-core.
const UPDATE_WINDOW: u64 = 10_000;

/// 1-RTT packets that the client sends before it updates: those after the handshake, whose end it has to see confirmed.
const PACKETS: u64 = 16;

/// Keys of a connection that are made before the first update: of both directions for Handshake and 1-RTT packets.
const FIRST_KEYS: usize = 4;

/// TLS_AES_128_GCM_SHA256, whose keys are to be updated soon, but only the first ones of this process.
pub fn suite() -> SupportedCipherSuite {
    static ALGORITHM: LazyLock<Option<Limited>> = LazyLock::new(|| {
        let inner = aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13()?.quic?;
        Some(Limited { inner, keys: AtomicUsize::new(0) })
    });
    static SUITE: LazyLock<Option<Tls13CipherSuite>> = LazyLock::new(|| {
        let plain = aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13()?;
        let quic = ALGORITHM.as_ref().map(|algorithm| algorithm as &dyn Algorithm);
        Some(Tls13CipherSuite {
            common: rustls::crypto::CipherSuiteCommon {
                suite: plain.common.suite,
                hash_provider: plain.common.hash_provider,
                confidentiality_limit: plain.common.confidentiality_limit,
            },
            hkdf_provider: plain.hkdf_provider,
            aead_alg: plain.aead_alg,
            quic,
        })
    });
    SUITE.as_ref().map_or(aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256, SupportedCipherSuite::Tls13)
}

struct Limited {
    inner: &'static dyn Algorithm,
    /// Keys made so far.
    keys: AtomicUsize,
}

impl Algorithm for Limited {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn PacketKey> {
        let key = self.inner.packet_key(key, iv);
        if self.keys.fetch_add(1, Ordering::Relaxed) < FIRST_KEYS { Box::new(LimitedKey(key)) } else { key }
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        self.inner.header_protection_key(key)
    }

    fn aead_key_len(&self) -> usize {
        self.inner.aead_key_len()
    }
}

struct LimitedKey(Box<dyn PacketKey>);

impl PacketKey for LimitedKey {
    fn encrypt_in_place(&self, number: u64, header: &[u8], payload: &mut [u8]) -> Result<Tag, Error> {
        self.0.encrypt_in_place(number, header, payload)
    }

    fn decrypt_in_place<'a>(&self, number: u64, header: &[u8], payload: &'a mut [u8]) -> Result<&'a [u8], Error> {
        self.0.decrypt_in_place(number, header, payload)
    }

    fn tag_len(&self) -> usize {
        self.0.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        UPDATE_WINDOW + PACKETS
    }

    fn integrity_limit(&self) -> u64 {
        self.0.integrity_limit()
    }
}
