//! TLS of both sides, by rustls with the ring provider; `tls_0_10.rs` is for quinn 0.10, with the same items.

use std::sync::Arc;

use anyhow::{Context, Result};
use quiclab_contract::{TestCase, perf::Load};
pub use quinn::crypto::rustls::QuicClientConfig as Client;
use quinn::crypto::rustls::QuicServerConfig;
use rustls::{
    CipherSuite, KeyLogFile, NamedGroup, RootCertStore,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    quic::Suite,
};

use crate::{settings::Settings, tickets::Tickets};

/// The client's side. It trusts `ca.pem` and keeps tickets in `tickets`.
///
/// # Errors
/// Where `ca.pem` cannot be used.
pub fn client(settings: &Settings, tickets: Arc<Tickets>) -> Result<Client> {
    let mut roots = RootCertStore::empty();
    let path = settings.certs.join("ca.pem");
    for certificate in CertificateDer::pem_file_iter(&path).with_context(|| path.display().to_string())? {
        roots.add(certificate?).with_context(|| path.display().to_string())?;
    }
    let mut config = rustls::ClientConfig::builder_with_provider(provider(settings))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = settings.alpn();
    config.enable_early_data = settings.test_case == TestCase::ZeroRtt;
    config.resumption = match settings.perf_load {
        // Each of them is to be a full one.
        Load::Handshakes => rustls::client::Resumption::disabled(),
        _ => rustls::client::Resumption::store(tickets),
    };
    if settings.key_log.is_some() {
        config.key_log = Arc::new(KeyLogFile::new());
    }
    Ok(Client::with_initial(Arc::new(config), initial_suite()?)?)
}

/// The server's side, with `cert.pem` and `priv.key`.
///
/// # Errors
/// Where they cannot be used.
pub fn server(settings: &Settings) -> Result<QuicServerConfig> {
    let path = settings.certs.join("cert.pem");
    let chain = CertificateDer::pem_file_iter(&path).with_context(|| path.display().to_string())?;
    let chain = chain.collect::<Result<Vec<_>, _>>().with_context(|| path.display().to_string())?;
    let path = settings.certs.join("priv.key");
    let key = PrivateKeyDer::from_pem_file(&path).with_context(|| path.display().to_string())?;
    let mut config = rustls::ServerConfig::builder_with_provider(provider(settings))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("cert.pem and priv.key")?;
    config.alpn_protocols = settings.alpn();
    if settings.test_case == TestCase::ZeroRtt {
        // RFC 9001, section 4.6.1: the only value but 0 that there is.
        config.max_early_data_size = u32::MAX;
    }
    if settings.key_log.is_some() {
        config.key_log = Arc::new(KeyLogFile::new());
    }
    Ok(QuicServerConfig::with_initial(Arc::new(config), initial_suite()?)?)
}

/// ring's cipher suites and groups; of the suites only ChaCha20 where the test case says so, of the groups only X25519 where a client is
/// to offer nothing else.
fn provider(settings: &Settings) -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    if settings.test_case == TestCase::ChaCha20 {
        provider.cipher_suites.retain(|suite| suite.suite() == CipherSuite::TLS13_CHACHA20_POLY1305_SHA256);
    }
    // That is the only one that can be asked for.
    if settings.handshake.key_exchange.is_some() {
        provider.kx_groups.retain(|group| group.name() == NamedGroup::X25519);
    }
    Arc::new(provider)
}

/// RFC 9001, section 5.2: Initial packets are protected with AES-128-GCM, whatever the cipher suite of the connection.
fn initial_suite() -> Result<Suite> {
    let suite = ring::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13();
    suite.and_then(|suite| suite.quic_suite()).context("ring has no QUIC keys of AES-128-GCM")
}
