//! The group X25519 (RFC 7748) by the formally verified assembly of s2n-bignum, which takes about half as long as ring's, and with a
//! key pair that can serve for many handshakes. Machines without the instructions for it use ring.

use std::sync::OnceLock;

use graviola::key_agreement::x25519::{PublicKey, StaticPrivateKey};
use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup, ring};
use rustls::{Error, NamedGroup, PeerMisbehaved};

/// A key pair for each handshake.
static FRESH: X25519 = X25519 { reuses: false };
/// One key pair for all handshakes of this process.
static REUSED: X25519 = X25519 { reuses: true };

/// The group with a new key pair for each handshake.
pub fn fresh() -> &'static dyn SupportedKxGroup {
    if is_supported() { &FRESH } else { ring::kx_group::X25519 }
}

/// The group with one key pair for all handshakes. `None`: not on this machine.
pub fn reused() -> Option<&'static dyn SupportedKxGroup> {
    is_supported().then_some(&REUSED as &dyn SupportedKxGroup)
}

/// The crate panics on a machine without these.
#[cfg(target_arch = "x86_64")]
fn is_supported() -> bool {
    use std::arch::is_x86_feature_detected;
    is_x86_feature_detected!("adx")
        && is_x86_feature_detected!("aes")
        && is_x86_feature_detected!("avx")
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("pclmulqdq")
}

#[cfg(target_arch = "aarch64")]
fn is_supported() -> bool {
    use std::arch::is_aarch64_feature_detected;
    is_aarch64_feature_detected!("neon")
        && is_aarch64_feature_detected!("aes")
        && is_aarch64_feature_detected!("pmull")
        && is_aarch64_feature_detected!("sha2")
}

#[derive(Debug)]
struct X25519 {
    reuses: bool,
}

enum Key {
    Fresh(StaticPrivateKey),
    Reused(&'static StaticPrivateKey),
}

/// A key share that was offered.
struct Offered {
    key: Key,
    public: [u8; 32],
}

fn random_key() -> Result<StaticPrivateKey, Error> {
    StaticPrivateKey::new_random().map_err(|_| Error::FailedToGetRandomBytes)
}

/// The key pair of this process.
fn reused_pair() -> Result<(&'static StaticPrivateKey, [u8; 32]), Error> {
    static PAIR: OnceLock<(StaticPrivateKey, [u8; 32])> = OnceLock::new();
    let (key, public) = match PAIR.get() {
        Some(pair) => pair,
        None => {
            let key = random_key()?;
            let public = key.public_key().as_bytes();
            PAIR.get_or_init(|| (key, public))
        }
    };
    Ok((key, *public))
}

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        if self.reuses {
            let (key, public) = reused_pair()?;
            return Ok(Box::new(Offered { key: Key::Reused(key), public }));
        }
        let key = random_key()?;
        let public = key.public_key().as_bytes();
        Ok(Box::new(Offered { key: Key::Fresh(key), public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl ActiveKeyExchange for Offered {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let invalid = || Error::from(PeerMisbehaved::InvalidKeyShare);
        let peer = PublicKey::try_from_slice(peer).map_err(|_| invalid())?;
        let key = match &self.key {
            Key::Fresh(key) => key,
            Key::Reused(key) => key,
        };
        // Fails where the result is zero, RFC 8446 section 7.4.2.
        let secret = key.diffie_hellman(&peer).map_err(|_| invalid())?;
        Ok(SharedSecret::from(&secret.as_bytes()[..]))
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn ffdhe_group(&self) -> Option<rustls::ffdhe_groups::FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups() -> Vec<&'static dyn SupportedKxGroup> {
        [Some(fresh()), reused()].into_iter().flatten().collect()
    }

    /// Another implementation is the oracle.
    #[test]
    fn both_sides_have_the_same_secret() {
        for group in groups() {
            for _ in 0..20 {
                let offered = group.start().expect("random bytes");
                let server = ring::kx_group::X25519.start_and_complete(offered.pub_key()).expect("a valid key");
                let secret = offered.complete(&server.pub_key).expect("a valid share");
                assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());
            }
        }
    }

    #[test]
    fn a_key_is_used_again_only_where_that_is_asked_for() {
        let share = |group: &dyn SupportedKxGroup| group.start().expect("random bytes").pub_key().to_vec();
        assert_ne!(share(fresh()), share(fresh()));
        if let Some(reused) = reused() {
            assert_eq!(share(reused), share(reused));
        }
    }

    #[test]
    fn shares_that_are_too_short_too_long_or_of_small_order_are_refused() {
        for group in groups() {
            for share in [&[7; 31][..], &[7; 33], &[], &[0; 32]] {
                let offered = group.start().expect("random bytes");
                assert!(offered.complete(share).is_err(), "{share:?}");
            }
        }
    }
}
