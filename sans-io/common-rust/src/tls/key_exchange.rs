//! X25519 whose secrets follow from the seed. rustls takes those of ring from the operating system.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use rand_chacha::{ChaCha20Rng, rand_core::RngCore};
use ring::agreement::{self, EphemeralPrivateKey, PublicKey, UnparsedPublicKey, agree_ephemeral};
use rustls::{
    Error, NamedGroup, PeerMisbehaved,
    crypto::{ActiveKeyExchange, GetRandomFailed, SharedSecret, SupportedKxGroup},
    ffdhe_groups::FfdheGroup,
};

use super::fixed_random::FixedSlice;
use crate::random::Seed;

/// X25519 with secrets of a seed.
pub(super) struct X25519 {
    secrets: Mutex<ChaCha20Rng>,
}

impl X25519 {
    pub(super) fn new(seed: &Seed) -> Self {
        Self { secrets: Mutex::new(Self::stream(seed)) }
    }

    /// Secrets follow from this seed from now on.
    pub(super) fn begin(&self, seed: &Seed) {
        *self.secrets.lock().unwrap_or_else(PoisonError::into_inner) = Self::stream(seed);
    }

    /// The groups that ring has, in its order, so that a ClientHello is as long as with ring. Only X25519 can be used.
    pub(super) fn groups(&'static self) -> Vec<&'static dyn SupportedKxGroup> {
        vec![self, &Unseeded(NamedGroup::secp256r1), &Unseeded(NamedGroup::secp384r1)]
    }

    fn stream(seed: &Seed) -> ChaCha20Rng {
        seed.stream("X25519")
    }
}

impl fmt::Debug for X25519 {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        NamedGroup::X25519.fmt(f)
    }
}

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut bytes = [0; 32];
        self.secrets.lock().map_err(|_| GetRandomFailed)?.fill_bytes(&mut bytes);
        let failed = |_| Error::General("X25519: ring makes no key of 32 bytes".to_owned());
        let secret = EphemeralPrivateKey::generate(&agreement::X25519, &FixedSlice { bytes: &bytes });
        let secret = secret.map_err(failed)?;
        let public = secret.compute_public_key().map_err(failed)?;
        Ok(Box::new(KeyExchange { public, secret }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }
}

struct KeyExchange {
    secret: EphemeralPrivateKey,
    public: PublicKey,
}

impl ActiveKeyExchange for KeyExchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer = UnparsedPublicKey::new(&agreement::X25519, peer);
        // ring refuses keys of other lengths and an all-zero result (RFC 8446, section 7.4.2).
        agree_ephemeral(self.secret, &peer, |secret| SharedSecret::from(secret))
            .map_err(|_| Error::from(PeerMisbehaved::InvalidKeyShare))
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_ref()
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }
}

/// A group that is offered and fails where a peer insists on it: its secrets would not follow from the seed.
#[derive(Debug)]
struct Unseeded(NamedGroup);

impl SupportedKxGroup for Unseeded {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Err(Error::General(format!("the peer wants key exchange by {:?}, expected X25519", self.0)))
    }

    fn name(&self) -> NamedGroup {
        self.0
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(role: &str) -> &'static dyn SupportedKxGroup {
        let seed = Seed::parse(&"5".repeat(64), role).unwrap();
        Box::leak(Box::new(X25519::new(&seed))).groups()[0]
    }

    #[test]
    fn it_agrees_with_the_x25519_of_ring() {
        let ours = group("client").start().unwrap();
        let theirs = rustls::crypto::ring::kx_group::X25519.start_and_complete(ours.pub_key()).unwrap();
        let shared = ours.complete(&theirs.pub_key).unwrap();
        assert_eq!(shared.secret_bytes(), theirs.secret.secret_bytes());
    }

    #[test]
    fn the_public_key_is_that_of_the_secret_that_was_drawn() {
        let mut secret = [0; 32];
        X25519::stream(&Seed::parse(&"5".repeat(64), "client").unwrap()).fill_bytes(&mut secret);
        let public = x25519_dalek::PublicKey::from(&x25519_dalek::StaticSecret::from(secret));
        assert_eq!(group("client").start().unwrap().pub_key(), public.as_bytes());
    }

    #[test]
    fn every_exchange_has_a_secret_of_its_own() {
        let group = group("client");
        assert_ne!(group.start().unwrap().pub_key(), group.start().unwrap().pub_key());
    }

    #[test]
    fn keys_that_are_none_are_refused() {
        for peer in [vec![0; 32], vec![1; 31], vec![1; 33], Vec::new()] {
            assert!(group("server").start().unwrap().complete(&peer).is_err(), "{peer:?}");
        }
    }
}
