//! TLS of both sides: rustls with ring's cipher suites, and everything random from the seed.
//!
//! What goes out and is random: hello randoms, session IDs and the order of extensions, tickets (rustls draws them by its
//! `secure_random`), key shares ([`key_exchange`]) and signatures ([`signing`]).

mod fixed_random;
mod key_exchange;
mod signing;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use key_exchange::X25519;
use rand_chacha::{ChaCha20Rng, rand_core::RngCore};
use rustls::{
    ClientConfig, KeyLogFile, RootCertStore, ServerConfig,
    client::Resumption,
    crypto::{CryptoProvider, GetRandomFailed, SecureRandom, ring},
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject},
    quic::Suite,
    server::ServerSessionMemoryCache,
    time_provider::TimeProvider,
    version::TLS13,
};

use crate::{
    contract::{Http, Role, Settings, hq},
    random::Seed,
};

/// What endpoints take as now: 2026-01-01, in seconds since 1970.
pub const NOW: Duration = Duration::from_secs(1_767_225_600);

/// Name of HTTP/3 in ALPN: RFC 9114, section 3.1.
pub const H3: &[u8] = b"h3";

/// Sessions that a server keeps: rustls's own number.
const SESSIONS: usize = 256;

/// TLS of one role, for one connection after another: files are read once.
pub struct Tls {
    config: Config,
    randomness: &'static Randomness,
}

/// What a connection begins with.
#[derive(Clone)]
pub enum Config {
    /// Of a client.
    Client(Arc<ClientConfig>),
    /// Of a server.
    Server(Arc<ServerConfig>),
}

impl Tls {
    /// With the files of the folder `CERTS`: a client trusts `ca.pem`, a server has `cert.pem` and `priv.key`. Both write to `SSLKEYLOGFILE`. A
    /// server's tickets are rustls's usual ones: names of sessions that it keeps.
    ///
    /// # Errors
    /// Where a file cannot be used. The key has to be ECDSA on P-256 or P-384, or RSA with 2048 to 4096 bits, in PKCS #8.
    pub fn new<C>(settings: &Settings<C>, seed: &Seed) -> Result<Self> {
        let randomness = Randomness::new(seed);
        let provider = Arc::new(randomness.provider());
        let config = match settings.role {
            Role::Client => Config::Client(Arc::new(client(settings, provider)?)),
            Role::Server => Config::Server(Arc::new(server(settings, provider)?)),
        };
        Ok(Self { config, randomness })
    }

    /// Begins anew: what is random follows from this seed from now on, and no session is known.
    pub fn begin(&self, seed: &Seed) -> Config {
        self.randomness.begin(seed);
        match &self.config {
            Config::Client(config) => {
                let mut config = ClientConfig::clone(config);
                config.resumption = Resumption::in_memory_sessions(SESSIONS);
                Config::Client(Arc::new(config))
            }
            Config::Server(config) => {
                let mut config = ServerConfig::clone(config);
                config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
                Config::Server(Arc::new(config))
            }
        }
    }
}

fn client<C>(settings: &Settings<C>, provider: Arc<CryptoProvider>) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let path = settings.certs.join("ca.pem");
    for certificate in CertificateDer::pem_file_iter(&path).with_context(|| path.display().to_string())? {
        roots.add(certificate?).with_context(|| path.display().to_string())?;
    }
    let mut config = ClientConfig::builder_with_details(provider, Arc::new(FixedTime))
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn(settings.http).to_vec()];
    if settings.key_log.is_some() {
        config.key_log = Arc::new(KeyLogFile::new());
    }
    Ok(config)
}

fn server<C>(settings: &Settings<C>, provider: Arc<CryptoProvider>) -> Result<ServerConfig> {
    let path = settings.certs.join("cert.pem");
    let chain = CertificateDer::pem_file_iter(&path).with_context(|| path.display().to_string())?;
    let chain = chain.collect::<Result<Vec<_>, _>>().with_context(|| path.display().to_string())?;
    let path = settings.certs.join("priv.key");
    let key = PrivateKeyDer::from_pem_file(&path).with_context(|| path.display().to_string())?;
    let mut config = ServerConfig::builder_with_details(provider, Arc::new(FixedTime))
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

/// Where TLS gets everything random from. It lives as long as the process, because rustls wants static parts: make one for a program and not one for
/// each connection.
pub struct Randomness {
    bytes: SeededRandom,
    secrets: X25519,
}

impl Randomness {
    /// That of a seed.
    pub fn new(seed: &Seed) -> &'static Self {
        let bytes = SeededRandom(Mutex::new(SeededRandom::stream(seed)));
        Box::leak(Box::new(Self { bytes, secrets: X25519::new(seed) }))
    }

    /// Begins anew with this seed.
    pub fn begin(&self, seed: &Seed) {
        *self.bytes.0.lock().unwrap_or_else(PoisonError::into_inner) = SeededRandom::stream(seed);
        self.secrets.begin(seed);
    }

    /// ring's cipher suites and signature verification; everything else from here.
    pub fn provider(&'static self) -> CryptoProvider {
        CryptoProvider {
            kx_groups: self.secrets.groups(),
            secure_random: &self.bytes,
            key_provider: &signing::DeterministicKeys,
            ..ring::default_provider()
        }
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

impl SeededRandom {
    fn stream(seed: &Seed) -> ChaCha20Rng {
        seed.stream("tls")
    }
}

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
        let seed = |digit: &str| Seed::parse(&digit.repeat(64), "client").unwrap();
        let draw = |randomness: &'static Randomness| {
            let provider = randomness.provider();
            let mut bytes = [0; 32];
            provider.secure_random.fill(&mut bytes).unwrap();
            (bytes, provider.kx_groups[0].start().unwrap().pub_key().to_vec())
        };
        let randomness = Randomness::new(&seed("a"));
        let first = draw(randomness);
        assert_eq!(first, draw(Randomness::new(&seed("a"))));
        let second = draw(Randomness::new(&seed("b")));
        assert!(first.0 != second.0 && first.1 != second.1);
        randomness.begin(&seed("b"));
        assert_eq!(draw(randomness), second);
    }

    #[test]
    fn suites_and_groups_are_offered_as_ring_offers_them() {
        let own = Randomness::new(&Seed::parse(&"0".repeat(64), "").unwrap()).provider();
        let ring = ring::default_provider();
        assert_eq!(own.cipher_suites, ring.cipher_suites);
        let names = |provider: &CryptoProvider| provider.kx_groups.iter().map(|group| group.name()).collect::<Vec<_>>();
        assert_eq!(names(&own), names(&ring));
        assert!(initial_suite().is_ok());
    }
}
