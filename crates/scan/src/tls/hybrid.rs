//! The group X25519MLKEM768, draft-ietf-tls-ecdhe-mlkem, which browsers offer: ML-KEM-768 (FIPS 203) by a crate, X25519 as
//! without it. Only the client's side.

use ml_kem::DecapsulationKey768;
use ml_kem::kem::{Decapsulate, KeyExport};
use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup, ring};
use rustls::{Error, NamedGroup, PeerMisbehaved};

use super::x25519;

/// Bytes of ML-KEM-768, FIPS 203 section 8: what an encapsulation key is made of, and a ciphertext.
const SEED_BYTES: usize = 64;
const CIPHERTEXT_BYTES: usize = 1088;

/// The group.
#[derive(Debug)]
pub struct X25519MlKem768;

/// A key share that was offered.
struct Offered {
    /// Makes the decapsulation key, which would take ten times as much memory as all else.
    seed: [u8; SEED_BYTES],
    x25519: Box<dyn ActiveKeyExchange>,
    /// Encapsulation key and X25519 key.
    public: Vec<u8>,
}

impl SupportedKxGroup for X25519MlKem768 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut seed = [0; SEED_BYTES];
        ring::default_provider().secure_random.fill(&mut seed)?;
        let x25519 = x25519::fresh().start()?;
        let mut public = DecapsulationKey768::from_seed(seed.into()).encapsulation_key().to_bytes().to_vec();
        public.extend_from_slice(x25519.pub_key());
        Ok(Box::new(Offered { seed, x25519, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}

impl ActiveKeyExchange for Offered {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let invalid = || Error::from(PeerMisbehaved::InvalidKeyShare);
        let (ciphertext, x25519) = peer.split_at_checked(CIPHERTEXT_BYTES).ok_or_else(invalid)?;
        let key = DecapsulationKey768::from_seed(self.seed.into());
        let lattice = key.decapsulate_slice(ciphertext).map_err(|_| invalid())?;
        let curve = self.x25519.complete(x25519)?;
        Ok(SharedSecret::from([&lattice[..], curve.secret_bytes()].concat()))
    }

    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        Some((self.x25519.group(), self.x25519.pub_key()))
    }

    fn complete_hybrid_component(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        self.x25519.complete(peer)
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn ffdhe_group(&self) -> Option<rustls::ffdhe_groups::FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        X25519MlKem768.name()
    }
}

#[cfg(test)]
mod tests {
    use ml_kem::EncapsulationKey768;
    use ml_kem::kem::Encapsulate;

    use super::*;

    /// What a server answers to an offered share, and its secret.
    fn answer(public: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let (lattice, curve) = public.split_at(1184);
        let key = EncapsulationKey768::new(&lattice.try_into().expect("1184 bytes")).expect("a valid key");
        let (ciphertext, lattice) = key.encapsulate();
        let x25519 = ring::kx_group::X25519.start_and_complete(curve).expect("a valid key");
        let secret = [&lattice[..], x25519.secret.secret_bytes()].concat();
        ([&ciphertext[..], &x25519.pub_key].concat(), secret)
    }

    #[test]
    fn both_sides_have_the_same_secret() {
        let offered = X25519MlKem768.start().expect("random bytes");
        assert_eq!(offered.pub_key().len(), 1216);
        let (share, secret) = answer(offered.pub_key());
        assert_eq!(share.len(), 1120);
        assert_eq!(offered.complete(&share).expect("a valid share").secret_bytes(), secret);
    }

    #[test]
    fn a_server_may_take_the_curve_alone() {
        let offered = X25519MlKem768.start().expect("random bytes");
        let (group, share) = offered.hybrid_component().expect("a component");
        assert_eq!(group, NamedGroup::X25519);
        let server = ring::kx_group::X25519.start_and_complete(share).expect("a valid key");
        let secret = offered.complete_hybrid_component(&server.pub_key).expect("a valid share");
        assert_eq!(secret.secret_bytes(), server.secret.secret_bytes());
    }

    #[test]
    fn a_share_of_another_length_is_refused() {
        for length in [0, 32, 1088, 1119, 1121] {
            let offered = X25519MlKem768.start().expect("random bytes");
            assert!(offered.complete(&vec![7; length]).is_err(), "{length}");
        }
    }
}
