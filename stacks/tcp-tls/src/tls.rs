//! TLS of both sides, by rustls with the ring provider, as the endpoint of quinn has it.

use std::sync::Arc;

use anyhow::{Context, Result};
use quiclab_contract::perf;
use rustls::{
    ClientConfig, ClientConnection, Connection, KeyLogFile, RootCertStore, ServerConfig, ServerConnection,
    client::Resumption,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    version::TLS13,
};

use crate::settings::Settings;

/// The client's side; it trusts `ca.pem`.
///
/// # Errors
/// Where `ca.pem` cannot be used.
pub fn client(settings: &Settings) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    let path = settings.certs.join("ca.pem");
    for certificate in CertificateDer::pem_file_iter(&path).with_context(|| path.display().to_string())? {
        roots.add(certificate?).with_context(|| path.display().to_string())?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![perf::ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    if settings.key_log.is_some() {
        config.key_log = Arc::new(KeyLogFile::new());
    }
    Ok(Arc::new(config))
}

/// The server's side, with `cert.pem` and `priv.key`.
///
/// # Errors
/// Where they cannot be used.
pub fn server(settings: &Settings) -> Result<Arc<ServerConfig>> {
    let path = settings.certs.join("cert.pem");
    let chain = CertificateDer::pem_file_iter(&path).with_context(|| path.display().to_string())?;
    let chain = chain.collect::<Result<Vec<_>, _>>().with_context(|| path.display().to_string())?;
    let path = settings.certs.join("priv.key");
    let key = PrivateKeyDer::from_pem_file(&path).with_context(|| path.display().to_string())?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("cert.pem and priv.key")?;
    config.alpn_protocols = vec![perf::ALPN.to_vec()];
    // Nobody resumes, and a ticket that a client does not read makes the end of its connection a reset.
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// A connection of the client to the server `host`.
///
/// # Errors
/// Where that is no name of a server.
pub fn connection_to(config: &Arc<ClientConfig>, host: &str) -> Result<Connection> {
    let name = ServerName::try_from(host.to_owned()).with_context(|| format!("REQUESTS: found host {host:?}"))?;
    Ok(ClientConnection::new(Arc::clone(config), name)?.into())
}

/// A connection of the server.
///
/// # Errors
/// Those of rustls.
pub fn connection_from(config: &Arc<ServerConfig>) -> Result<Connection> {
    Ok(ServerConnection::new(Arc::clone(config))?.into())
}
