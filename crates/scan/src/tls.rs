//! TLS as a scanner needs it: certificates that are not checked unless asked, no resumption, and the secrets of every handshake.

mod hybrid;
mod x25519;

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use quinn_proto::crypto::rustls::QuicClientConfig;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, SupportedKxGroup, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, KeyLog, RootCertStore, SignatureScheme, SupportedCipherSuite,
};

use crate::settings::{KeyShareGroup, ScanSettings};

/// Takes any certificate: a scan measures what a server sends, not whether to trust it.
#[derive(Debug)]
struct AnyCertificate {
    schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

/// Secrets since they were last taken, as lines of a key log. All handshakes share it: who calls the stack for one of them takes
/// what is there afterwards.
#[derive(Default)]
pub struct SecretLines(Mutex<Vec<String>>);

impl SecretLines {
    /// What has come since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for SecretLines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SecretLines")
    }
}

impl KeyLog for SecretLines {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        // Every handshake has five of these lines, so they are not left to the slower formatting of the standard library.
        const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
        let mut line = String::with_capacity(label.len() + 2 * (client_random.len() + secret.len() + 1));
        line.push_str(label);
        for bytes in [client_random, secret] {
            line.push(' ');
            let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
            line.extend(digits.map(|digit| DIGITS[usize::from(digit)]));
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

/// Cipher suites, in the order of browsers. The hash of AES-256's suite, SHA-384, took almost a third of the client's time of a handshake:
/// no processor has instructions for it that ring uses, and servers usually take the client's first choice.
const CIPHER_SUITES: [SupportedCipherSuite; 3] = [
    ring::cipher_suite::TLS13_AES_128_GCM_SHA256,
    ring::cipher_suite::TLS13_AES_256_GCM_SHA384,
    ring::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
];

/// The configuration of all handshakes.
///
/// # Errors
/// No group; a key share to use again on a machine that cannot; roots of the system that cannot be read, where certificates are checked.
pub fn configuration(settings: &ScanSettings, secrets: Arc<SecretLines>) -> io::Result<QuicClientConfig> {
    let groups = &settings.hello.key_share_groups;
    if groups.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no group for a key share"));
    }
    let reuses = settings.hello.reuses_key_share;
    let kx_groups = groups.iter().map(|&group| exchange(group, reuses)).collect::<io::Result<_>>()?;
    let provider =
        Arc::new(CryptoProvider { kx_groups, cipher_suites: CIPHER_SUITES.to_vec(), ..ring::default_provider() });
    let schemes = provider.signature_verification_algorithms.supported_schemes();
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(io::Error::other)?;
    let mut configuration = if settings.verify {
        builder.with_root_certificates(roots()?).with_no_client_auth()
    } else {
        let verifier = Arc::new(AnyCertificate { schemes });
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    };
    configuration.alpn_protocols = settings.application_protocols.iter().map(|it| it.clone().into_bytes()).collect();
    configuration.resumption = Resumption::disabled();
    configuration.key_log = secrets;
    QuicClientConfig::try_from(configuration).map_err(io::Error::other)
}

fn exchange(group: KeyShareGroup, reuses: bool) -> io::Result<&'static dyn SupportedKxGroup> {
    let unsupported = || {
        let why = "a key share for many handshakes needs a processor with ADX and AVX2, which this machine has not";
        io::Error::new(io::ErrorKind::Unsupported, why)
    };
    match group {
        KeyShareGroup::X25519 if reuses => x25519::reused().ok_or_else(unsupported),
        KeyShareGroup::X25519 => Ok(x25519::fresh()),
        KeyShareGroup::Secp256r1 => Ok(ring::kx_group::SECP256R1),
        KeyShareGroup::Secp384r1 => Ok(ring::kx_group::SECP384R1),
        KeyShareGroup::X25519MlKem768 => Ok(&hybrid::X25519MlKem768),
    }
}

fn roots() -> io::Result<RootCertStore> {
    let loaded = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(loaded.certs);
    match loaded.errors.into_iter().next() {
        _ if !roots.is_empty() => Ok(roots),
        Some(error) => Err(io::Error::other(error)),
        None => Err(io::Error::new(io::ErrorKind::NotFound, "this system has no root certificates")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_a_line_as_the_dissector_reads_it() {
        let secrets = SecretLines::default();
        secrets.log("CLIENT_HANDSHAKE_TRAFFIC_SECRET", &[0xab; 32], &[7; 32]);
        let lines = secrets.take();
        let mut log = quiclab_wire::KeyLog::default();
        log.read(lines.concat().as_bytes());
        assert_eq!((log.connections(), log.lines_not_understood()), (1, 0));
        assert!(secrets.take().is_empty());
    }

    #[test]
    fn without_a_group_there_is_no_client_hello() {
        let mut settings = ScanSettings::default();
        settings.hello.key_share_groups.clear();
        assert!(configuration(&settings, Arc::default()).is_err());
    }
}
