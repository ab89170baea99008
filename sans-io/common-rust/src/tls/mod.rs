//! TLS of both sides: rustls with ring's cipher suites, and everything random from the seed.
//!
//! What goes out and is random: hello randoms, session IDs and the order of extensions, tickets (rustls draws them by its
//! `secure_random`), key shares ([`key_exchange`]) and signatures ([`signing`]).

mod key_exchange;
mod signing;

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Context, Result};
use rand_chacha::{ChaCha20Rng, rand_core::RngCore};
use rustls::{
    ClientConfig, KeyLogFile, RootCertStore, ServerConfig,
    crypto::{CryptoProvider, GetRandomFailed, SecureRandom, ring},
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject},
    quic::Suite,
    time_provider::TimeProvider,
    version::TLS13,
};

use crate::{
    contract::{Http, Settings, hq},
    random::Seed,
};

/// What endpoints take as now: 2026-01-01, in seconds since 1970.
pub const NOW: Duration = Duration::from_secs(1_767_225_600);

/// Name of HTTP/3 in ALPN: RFC 9114, section 3.1.
pub const H3: &[u8] = b"h3";

/// The client's side. It trusts `ca.pem` in the folder `CERTS`, and writes to `SSLKEYLOGFILE`.
///
/// # Errors
/// Where `ca.pem` cannot be used.
pub fn client<C>(settings: &Settings<C>, seed: &Seed) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let path = settings.certs.join("ca.pem");
    for certificate in CertificateDer::pem_file_iter(&path).with_context(|| path.display().to_string())? {
        roots.add(certificate?).with_context(|| path.display().to_string())?;
    }
    let mut config = ClientConfig::builder_with_details(Arc::new(provider(seed)), Arc::new(FixedTime))
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn(settings.http).to_vec()];
    if settings.key_log.is_some() {
        config.key_log = Arc::new(KeyLogFile::new());
    }
    Ok(config)
}

/// The server's side, with `cert.pem` and `priv.key` of the folder `CERTS`. Its tickets are rustls's usual ones: names of
/// sessions that it keeps.
///
/// # Errors
/// Where they cannot be used; the key has to be ECDSA P-256, in PKCS #8.
pub fn server<C>(settings: &Settings<C>, seed: &Seed) -> Result<ServerConfig> {
    let path = settings.certs.join("cert.pem");
    let chain = CertificateDer::pem_file_iter(&path).with_context(|| path.display().to_string())?;
    let chain = chain.collect::<Result<Vec<_>, _>>().with_context(|| path.display().to_string())?;
    let path = settings.certs.join("priv.key");
    let key = PrivateKeyDer::from_pem_file(&path).with_context(|| path.display().to_string())?;
    let mut config = ServerConfig::builder_with_details(Arc::new(provider(seed)), Arc::new(FixedTime))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("cert.pem and priv.key")?;
    config.alpn_protocols = vec![alpn(settings.http).to_vec()];
    if settings.key_log.is_some() {
        config.key_log = Arc::new(KeyLogFile::new());
    }
    Ok(config)
}

/// Name in ALPN.
pub fn alpn(http: Http) -> &'static [u8] {
    match http {
        Http::Hq => hq::ALPN,
        Http::H3 => H3,
    }
}

/// ring's cipher suites and signature verification; all else from the seed. Its parts live as long as the process: rustls
/// wants them static, so call it once per configuration and not once per connection.
pub fn provider(seed: &Seed) -> CryptoProvider {
    CryptoProvider {
        kx_groups: key_exchange::groups(seed),
        secure_random: Box::leak(Box::new(SeededRandom(Mutex::new(seed.stream("tls"))))),
        key_provider: &signing::DeterministicKeys,
        ..ring::default_provider()
    }
}

/// The suite of Initial packets, whatever the cipher suite of the connection: RFC 9001, section 5.2.
///
/// # Errors
/// Where ring has no such suite for QUIC.
pub fn initial_suite() -> Result<Suite> {
    let suite = ring::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13();
    suite.and_then(|suite| suite.quic_suite()).context("ring has no QUIC keys of AES-128-GCM")
}

struct SeededRandom(Mutex<ChaCha20Rng>);

impl fmt::Debug for SeededRandom {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("SeededRandom")
    }
}

impl SecureRandom for SeededRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        self.0.lock().map_err(|_| GetRandomFailed)?.fill_bytes(bytes);
        Ok(())
    }
}

#[derive(Debug)]
struct FixedTime;

impl TimeProvider for FixedTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(NOW))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_randomness_and_other_ones_others() {
        let draw = |digit: &str| {
            let provider = provider(&Seed::parse(&digit.repeat(64), "client").unwrap());
            let mut bytes = [0; 32];
            provider.secure_random.fill(&mut bytes).unwrap();
            (bytes, provider.kx_groups[0].start().unwrap().pub_key().to_vec())
        };
        assert_eq!(draw("a"), draw("a"));
        let (first, second) = (draw("a"), draw("b"));
        assert!(first.0 != second.0 && first.1 != second.1);
    }

    #[test]
    fn suites_and_groups_are_offered_as_ring_offers_them() {
        let (own, ring) = (provider(&Seed::parse(&"0".repeat(64), "").unwrap()), ring::default_provider());
        assert_eq!(own.cipher_suites, ring.cipher_suites);
        let names = |provider: &CryptoProvider| provider.kx_groups.iter().map(|group| group.name()).collect::<Vec<_>>();
        assert_eq!(names(&own), names(&ring));
        assert!(initial_suite().is_ok());
    }
}
