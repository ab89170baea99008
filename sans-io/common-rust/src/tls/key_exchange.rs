//! X25519 whose secrets follow from the seed: those of ring are drawn by the operating system, always.

use std::{fmt, sync::Mutex};

use rand_chacha::{ChaCha20Rng, rand_core::RngCore};
use rustls::{
    Error, NamedGroup, PeerMisbehaved,
    crypto::{ActiveKeyExchange, GetRandomFailed, SharedSecret, SupportedKxGroup},
    ffdhe_groups::FfdheGroup,
};
use x25519_dalek::{PublicKey, StaticSecret};

use crate::random::Seed;

/// The groups that ring has, in its order, so that a ClientHello is as long as with ring. Only X25519 can be used.
pub(super) fn groups(seed: &Seed) -> Vec<&'static dyn SupportedKxGroup> {
    let x25519 = Box::leak(Box::new(X25519 { secrets: Mutex::new(seed.stream("X25519")) }));
    vec![x25519, &Unseeded(NamedGroup::secp256r1), &Unseeded(NamedGroup::secp384r1)]
}

struct X25519 {
    secrets: Mutex<ChaCha20Rng>,
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
        let secret = StaticSecret::from(bytes);
        Ok(Box::new(KeyExchange { public: PublicKey::from(&secret), secret }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }
}

struct KeyExchange {
    secret: StaticSecret,
    public: PublicKey,
}

impl ActiveKeyExchange for KeyExchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let invalid = || Error::from(PeerMisbehaved::InvalidKeyShare);
        let peer: [u8; 32] = peer.try_into().map_err(|_| invalid())?;
        let shared = self.secret.diffie_hellman(&PublicKey::from(peer));
        // RFC 8446, section 7.4.2: the all-zero value is to be refused.
        if !shared.was_contributory() {
            return Err(invalid());
        }
        Ok(SharedSecret::from(&shared.as_bytes()[..]))
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_bytes()
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
        groups(&Seed::parse(&"5".repeat(64), role).unwrap())[0]
    }

    #[test]
    fn it_agrees_with_the_x25519_of_ring() {
        let ours = group("client").start().unwrap();
        let theirs = rustls::crypto::ring::kx_group::X25519.start_and_complete(ours.pub_key()).unwrap();
        let shared = ours.complete(&theirs.pub_key).unwrap();
        assert_eq!(shared.secret_bytes(), theirs.secret.secret_bytes());
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
