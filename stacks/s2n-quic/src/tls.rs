//! TLS of both sides, by rustls with aws-lc, configured as s2n-quic-rustls does it but for what test cases ask for.

use std::{sync::Arc, thread, time::Duration};

use anyhow::{Context, Result};
use quiclab_contract::{
    TestCase, hq,
    perf::{self, Load},
};
use rustls::{
    CipherSuite, ClientConfig, KeyLogFile, RootCertStore, ServerConfig,
    client::Resumption,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use s2n_quic::provider::tls::rustls::{Client, Server};

use crate::{key_update, settings::Settings};

/// The client's side. It trusts `ca.pem`.
///
/// # Errors
/// Where `ca.pem` cannot be used.
pub fn client(settings: &Settings) -> Result<Client> {
    let mut roots = RootCertStore::empty();
    let path = settings.certs.join("ca.pem");
    for certificate in CertificateDer::pem_file_iter(&path).with_context(|| path.display().to_string())? {
        roots.add(certificate?).with_context(|| path.display().to_string())?;
    }
    let mut config = ClientConfig::builder_with_provider(provider(settings))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn(settings);
    if settings.perf_load == Load::Handshakes {
        // Each of them is to be a full one.
        config.resumption = Resumption::disabled();
    }
    if settings.key_log.is_some() {
        config.key_log = Arc::new(KeyLogFile::new());
    }
    Ok(Client::from(config))
}

/// The server's side, with `cert.pem` and `priv.key`.
///
/// # Errors
/// Where they cannot be used.
pub fn server(settings: &Settings) -> Result<Server> {
    let path = settings.certs.join("cert.pem");
    let chain = CertificateDer::pem_file_iter(&path).with_context(|| path.display().to_string())?;
    let chain = chain.collect::<Result<Vec<_>, _>>().with_context(|| path.display().to_string())?;
    let path = settings.certs.join("priv.key");
    let key = PrivateKeyDer::from_pem_file(&path).with_context(|| path.display().to_string())?;
    let provider = provider(settings);
    seed(&provider)?;
    let certificate = CertifiedKey::from_der(chain, key, &provider).context("cert.pem and priv.key")?;
    let resolver = Resolver { certificate: Arc::new(certificate), delay: settings.certificate_delay };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(resolver));
    config.ignore_client_order = true;
    config.alpn_protocols = alpn(settings);
    if settings.key_log.is_some() {
        config.key_log = Arc::new(KeyLogFile::new());
    }
    Ok(Server::from(config))
}

fn alpn(settings: &Settings) -> Vec<Vec<u8>> {
    let protocol = if settings.test_case == TestCase::Perf { perf::ALPN } else { hq::ALPN };
    vec![protocol.to_vec()]
}

/// The library's cipher suites and groups; of the suites only ChaCha20 where the test case says so.
fn provider(settings: &Settings) -> Arc<CryptoProvider> {
    #[expect(deprecated, reason = "the only name of the library's list; the version of rustls is in Cargo.lock")]
    let suites = s2n_quic::provider::tls::rustls::DEFAULT_CIPHERSUITES;
    let mut provider = CryptoProvider { cipher_suites: suites.to_vec(), ..aws_lc_rs::default_provider() };
    match settings.test_case {
        TestCase::ChaCha20 => {
            provider.cipher_suites.retain(|suite| suite.suite() == CipherSuite::TLS13_CHACHA20_POLY1305_SHA256);
        }
        TestCase::KeyUpdate => provider.cipher_suites = vec![key_update::suite()],
        _ => {}
    }
    Arc::new(provider)
}

/// Makes aws-lc collect its entropy now, which takes half a second of the laboratory's processor, and not when the first
/// connection waits for an answer.
fn seed(provider: &CryptoProvider) -> Result<()> {
    let group = provider.kx_groups.first().context("aws-lc has no key exchange")?;
    group.start()?;
    Ok(())
}

/// The server's certificate, which takes its time.
#[derive(Debug)]
struct Resolver {
    certificate: Arc<CertifiedKey>,
    delay: Duration,
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, _: ClientHello) -> Option<Arc<CertifiedKey>> {
        // The library asks from its only thread: nothing is sent or received meanwhile.
        thread::sleep(self.delay);
        Some(Arc::clone(&self.certificate))
    }
}
