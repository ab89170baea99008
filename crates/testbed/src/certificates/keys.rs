//! Private keys, all of whose bits follow from the seed of a run.

use std::{
    collections::BTreeMap,
    sync::{LazyLock, Mutex, PoisonError},
};

use anyhow::{Context, Result};
use p256::{
    ecdsa::{DerSignature, signature::Signer},
    pkcs8::{EncodePrivateKey, LineEnding},
};
use quiclab_experiment::run::{CertificateKey, word};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use rcgen::{
    PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_RSA_SHA256, PublicKeyData, SignatureAlgorithm, SigningKey,
};
use rsa::{PrivateKey, pkcs1::EncodeRsaPublicKey};
use sha2::{Digest, Sha256, Sha384};

const INVALID: &str = "this seed gives no valid key; use another one";
/// What the server's key is derived from, beside the seed.
const SERVER: &str = "server";

/// RSA keys that this process has made, by seed and bits: all runs of a repetition share a seed, and 4096 bits take some tenth of a second.
static RSA_KEYS: LazyLock<Mutex<BTreeMap<(u64, usize), ServerKey>>> = LazyLock::new(Mutex::default);

/// The key of an authority, ECDSA on P-256. Its signatures are deterministic (RFC 6979).
pub(super) struct AuthorityKey {
    secret: p256::ecdsa::SigningKey,
    public: Vec<u8>,
}

impl AuthorityKey {
    pub(super) fn derive(seed: u64, purpose: &str) -> Result<Self> {
        // A digest that is no valid key (zero, or the group's order and above) has a probability of 2^-32.
        let digest = digest::<Sha256>(seed, purpose);
        let secret = p256::ecdsa::SigningKey::from_slice(&digest).context(INVALID)?;
        let public = secret.verifying_key().to_sec1_point(false).as_bytes().to_vec();
        Ok(Self { secret, public })
    }
}

impl PublicKeyData for AuthorityKey {
    fn der_bytes(&self) -> &[u8] {
        &self.public
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_ECDSA_P256_SHA256
    }
}

impl SigningKey for AuthorityKey {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let signature: DerSignature = self.secret.sign(message);
        Ok(signature.as_bytes().to_vec())
    }
}

/// The key of a server. It signs nothing here.
#[derive(Clone)]
pub(super) struct ServerKey {
    /// PKCS #8.
    pub(super) pem: String,
    public: Vec<u8>,
    algorithm: &'static SignatureAlgorithm,
}

impl ServerKey {
    pub(super) fn derive(seed: u64, kind: CertificateKey) -> Result<Self> {
        match kind {
            CertificateKey::EcdsaP256 => {
                let AuthorityKey { secret, public } = AuthorityKey::derive(seed, SERVER)?;
                Self::new(&secret, public, &PKCS_ECDSA_P256_SHA256)
            }
            CertificateKey::EcdsaP384 => {
                let digest = digest::<Sha384>(seed, &purpose(kind));
                let secret = p384::ecdsa::SigningKey::from_slice(&digest).context(INVALID)?;
                let public = secret.verifying_key().to_sec1_point(false).as_bytes().to_vec();
                Self::new(&secret, public, &PKCS_ECDSA_P384_SHA384)
            }
            CertificateKey::Rsa2048 => Self::rsa(seed, kind, 2048),
            CertificateKey::Rsa4096 => Self::rsa(seed, kind, 4096),
        }
    }

    fn rsa(seed: u64, kind: CertificateKey, bits: usize) -> Result<Self> {
        let mut known = RSA_KEYS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = known.get(&(seed, bits)) {
            return Ok(key.clone());
        }
        let mut random = ChaCha20Rng::from_seed(digest::<Sha256>(seed, &purpose(kind)).as_slice().try_into()?);
        let secret = PrivateKey::new(&mut random, bits).context("RSA key")?;
        let public = secret.to_public_key().to_pkcs1_der().context("public RSA key")?.as_bytes().to_vec();
        let key = Self::new(&secret, public, &PKCS_RSA_SHA256)?;
        known.insert((seed, bits), key.clone());
        Ok(key)
    }

    fn new(secret: &impl EncodePrivateKey, public: Vec<u8>, algorithm: &'static SignatureAlgorithm) -> Result<Self> {
        let pem = secret.to_pkcs8_pem(LineEnding::LF).context("private key")?.to_string();
        Ok(Self { pem, public, algorithm })
    }
}

impl PublicKeyData for ServerKey {
    fn der_bytes(&self) -> &[u8] {
        &self.public
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        self.algorithm
    }
}

/// No two kinds of keys follow from the same digest.
fn purpose(kind: CertificateKey) -> String {
    format!("{SERVER} {}", word(&kind))
}

fn digest<D: Digest>(seed: u64, purpose: &str) -> Vec<u8> {
    D::new().chain_update(seed.to_le_bytes()).chain_update(purpose).finalize().to_vec()
}
