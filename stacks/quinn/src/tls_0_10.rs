//! TLS of both sides for quinn 0.10, by rustls 0.21; `tls.rs` is for later releases, with the same items.

use std::{path::Path, sync::Arc};

use anyhow::{Context, Result};
use quiclab_contract::{TestCase, perf::Load};
pub use rustls::ClientConfig as Client;
use rustls::{
    Certificate, ConfigBuilder, ConfigSide, KeyLogFile, PrivateKey, RootCertStore, ServerConfig, SupportedCipherSuite,
    SupportedKxGroup, WantsCipherSuites, WantsVerifier, cipher_suite, client::Resumption, kx_group,
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};

use crate::{settings::Settings, tickets::Tickets};

/// The client's side. It trusts `ca.pem` and keeps tickets in `tickets`.
///
/// # Errors
/// Where `ca.pem` cannot be used.
pub fn client(settings: &Settings, tickets: Arc<Tickets>) -> Result<Client> {
    let mut roots = RootCertStore::empty();
    let path = settings.certs.join("ca.pem");
    for certificate in certificates(&path)? {
        roots.add(&certificate).with_context(|| path.display().to_string())?;
    }
    let mut config = limited(Client::builder(), settings)?.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = settings.alpn();
    config.enable_early_data = settings.test_case == TestCase::ZeroRtt;
    config.resumption = match settings.perf_load {
        // Each of them is to be a full one.
        Load::Handshakes => Resumption::disabled(),
        _ => Resumption::store(tickets),
    };
    if settings.key_log.is_some() {
        config.key_log = Arc::new(KeyLogFile::new());
    }
    Ok(config)
}

/// The server's side, with `cert.pem` and `priv.key`.
///
/// # Errors
/// Where they cannot be used.
pub fn server(settings: &Settings) -> Result<ServerConfig> {
    let chain = certificates(&settings.certs.join("cert.pem"))?;
    let path = settings.certs.join("priv.key");
    let key = PrivateKeyDer::from_pem_file(&path).with_context(|| path.display().to_string())?;
    let mut config = limited(ServerConfig::builder(), settings)?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKey(key.secret_der().to_vec()))
        .context("cert.pem and priv.key")?;
    config.alpn_protocols = settings.alpn();
    if settings.test_case == TestCase::ZeroRtt {
        // RFC 9001, section 4.6.1: the only value but 0 that there is.
        config.max_early_data_size = u32::MAX;
    }
    if settings.key_log.is_some() {
        config.key_log = Arc::new(KeyLogFile::new());
    }
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<Certificate>> {
    let chain = CertificateDer::pem_file_iter(path).with_context(|| path.display().to_string())?;
    chain
        .map(|certificate| certificate.map(|certificate| Certificate(certificate.to_vec())))
        .collect::<Result<_, _>>()
        .with_context(|| path.display().to_string())
}

/// TLS 1.3 with rustls's own cipher suites and groups; of the suites only ChaCha20 where the test case says so, of the groups only X25519
/// where a client is to offer nothing else.
fn limited<S: ConfigSide>(
    builder: ConfigBuilder<S, WantsCipherSuites>,
    settings: &Settings,
) -> Result<ConfigBuilder<S, WantsVerifier>> {
    const CHACHA20: &[SupportedCipherSuite] = &[cipher_suite::TLS13_CHACHA20_POLY1305_SHA256];
    const X25519: &[&SupportedKxGroup] = &[&kx_group::X25519];
    let suites = if settings.test_case == TestCase::ChaCha20 { CHACHA20 } else { rustls::DEFAULT_CIPHER_SUITES };
    // That is the only one that can be asked for.
    let groups = if settings.handshake.key_exchange.is_some() { X25519 } else { &rustls::ALL_KX_GROUPS };
    let builder = builder.with_cipher_suites(suites).with_kx_groups(groups);
    Ok(builder.with_protocol_versions(&[&rustls::version::TLS13])?)
}
