//! What tokio-quiche is told: its own defaults, plus what the settings ask for.

use std::{
    io,
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::{Arc, Once},
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use boring::ssl::{BoxSelectCertFinish, ClientHello, SslContextBuilder, SslFiletype, SslMethod};
use quiclab_contract::{Role, TestCase, perf};
use tokio_quiche::{
    quic::ConnectionHook,
    quiche,
    settings::{CertificateKind, Hooks, QuicSettings, TlsCertificatePaths},
    socket::{SocketCapabilities, SocketCapabilitiesBuilder},
};

use crate::settings::Settings;

/// TLS_CHACHA20_POLY1305_SHA256, RFC 8446, appendix B.4.
const CHACHA20_POLY1305_SHA256: u16 = 0x1303;

/// Time without any packet after which a connection is given up. The library's own is 56 s.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the server may take to complete the handshake.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The library's settings of all connections. Says which congestion control quiche accepted: it names none in its qlog, and
/// has no way to ask for it.
///
/// # Errors
/// Where quiche does not know the congestion control.
pub fn quic_settings(settings: &Settings) -> Result<QuicSettings> {
    let algorithm: quiche::CongestionControlAlgorithm = settings.congestion_control.parse()?;
    // There can be thousands of connections in a second.
    static SAID: Once = Once::new();
    SAID.call_once(|| eprintln!("congestion control: {algorithm:?}"));
    let mut quic = QuicSettings::default();
    quic.cc_algorithm = settings.congestion_control.to_owned();
    quic.max_idle_timeout = Some(IDLE_TIMEOUT);
    if settings.test_case == TestCase::Perf {
        quic.alpn = vec![perf::ALPN.to_vec()];
    }
    quic.keylog_file = text(&settings.key_log);
    quic.qlog_dir = text(&settings.qlog);
    match settings.role {
        Role::Server => {
            // The library sends a Retry by default.
            quic.disable_client_ip_validation = settings.test_case != TestCase::Retry;
            quic.enable_early_data = settings.test_case == TestCase::ZeroRtt;
        }
        Role::Client => {
            quic.verify_peer = true;
            quic.handshake_timeout = Some(HANDSHAKE_TIMEOUT);
        }
    }
    Ok(quic)
}

/// A path of the environment, which is text.
fn text(path: &Option<PathBuf>) -> Option<String> {
    path.as_ref().map(|path| path.display().to_string())
}

/// Turns segmentation offload on where it is wanted, and nothing else.
///
/// # Errors
/// Where the kernel has none.
pub fn capabilities<S: AsFd>(socket: &S, settings: &Settings) -> io::Result<SocketCapabilities> {
    let mut builder = SocketCapabilitiesBuilder::new(socket);
    if settings.gso.is_on() {
        builder.gso()?;
    }
    Ok(builder.finish())
}

/// The certificate files, and what is set in BoringSSL itself.
pub struct Tls {
    chain: String,
    key: String,
    hook: Option<Arc<Hook>>,
}

/// Makes the TLS context where the library's own does not do.
struct Hook {
    role: Role,
    authority: String,
    chacha20_only: bool,
    certificate_delay: Duration,
}

impl Tls {
    /// # Errors
    /// Where `CERTS` is not UTF-8.
    pub fn new(settings: &Settings) -> Result<Self> {
        let file = |name: &str| {
            let path = settings.certs.join(name);
            path.into_os_string().into_string().map_err(|path| anyhow!("CERTS: {path:?} is not UTF-8"))
        };
        let hook = Hook {
            role: settings.role,
            authority: file("ca.pem")?,
            chacha20_only: settings.test_case == TestCase::ChaCha20,
            certificate_delay: settings.certificate_delay,
        };
        // A client must be told its authority; a server with nothing to set keeps the library's context.
        let is_needed = settings.role == Role::Client || !settings.certificate_delay.is_zero();
        Ok(Self { chain: file("cert.pem")?, key: file("priv.key")?, hook: is_needed.then(|| Arc::new(hook)) })
    }

    /// The files. A client has no use for them, but without them the library does not ask its hook.
    pub fn paths(&self) -> TlsCertificatePaths<'_> {
        TlsCertificatePaths { cert: &self.chain, private_key: &self.key, kind: CertificateKind::X509 }
    }

    pub fn hooks(&self) -> Hooks {
        let hook = self.hook.clone();
        Hooks { connection_hook: hook.map(|hook| hook as Arc<dyn ConnectionHook + Send + Sync>) }
    }
}

impl ConnectionHook for Hook {
    fn create_custom_ssl_context_builder(&self, tls: TlsCertificatePaths<'_>) -> Option<SslContextBuilder> {
        match self.builder(tls) {
            Ok(builder) => Some(builder),
            Err(error) => {
                // The library would go on with a context of its own, which lacks what was asked for.
                eprintln!("TLS: {error:#}");
                std::process::exit(1);
            }
        }
    }
}

impl Hook {
    fn builder(&self, tls: TlsCertificatePaths<'_>) -> Result<SslContextBuilder> {
        let mut builder = SslContextBuilder::new(SslMethod::tls())?;
        match self.role {
            Role::Client => {
                builder.set_ca_file(Path::new(&self.authority)).with_context(|| self.authority.clone())?;
                if self.chacha20_only {
                    offer_chacha20_only(&builder)?;
                }
            }
            Role::Server => {
                builder.set_certificate_chain_file(tls.cert).with_context(|| tls.cert.to_owned())?;
                builder.set_private_key_file(tls.private_key, SslFiletype::PEM)?;
                let delay = self.certificate_delay;
                builder.set_async_select_certificate_callback(move |_| {
                    Ok(Box::pin(async move {
                        tokio::time::sleep(delay).await;
                        Ok(Box::new(|_: ClientHello<'_>| Ok(())) as BoxSelectCertFinish)
                    }))
                });
            }
        }
        Ok(builder)
    }
}

fn offer_chacha20_only(builder: &SslContextBuilder) -> Result<()> {
    let suites = [CHACHA20_POLY1305_SHA256];
    // SAFETY: the context is alive, and BoringSSL copies the list, which is of the length given; no flags are allowed.
    let done = unsafe {
        boring_sys::SSL_CTX_set1_tls13_ciphers(builder.as_ptr(), suites.as_ptr(), std::ptr::null(), suites.len())
    };
    anyhow::ensure!(done == 1, "BoringSSL refuses TLS_CHACHA20_POLY1305_SHA256");
    Ok(())
}
