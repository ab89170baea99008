//! Where quinn 0.10 and later releases differ: what arrives at a server, and how a stream ends. This is the side of the later ones,
//! `release_0_10.rs` is that of 0.10, with the same items.

use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use h3::server::{RequestResolver, RequestStream};
use quiclab_contract::TestCase;
pub use quinn::Incoming;
use quinn::{Connecting, SendStream, ServerConfig};

use crate::{settings::Settings, transport};

/// True: a server can have its certificate later.
pub const CERTIFICATE_DELAY: bool = true;

/// True: requests of a client can leave as early data, if the library lets them.
pub const EARLY_DATA: bool = true;

/// Request whose headers may still be on their way.
pub type Request = RequestResolver<h3_quinn::Connection, Bytes>;

/// Changes nothing: each connection gets its own configuration from [`accept`].
///
/// # Errors
/// None.
pub fn prepare(_: &mut ServerConfig, _: &Settings) -> Result<()> {
    Ok(())
}

/// Returns the connection, or sends a Retry where the test case wants one.
///
/// # Errors
/// Where the Retry cannot be sent.
pub fn validate(incoming: Incoming, settings: &Settings) -> Result<Option<Incoming>> {
    if settings.test_case == TestCase::Retry && incoming.may_retry() {
        incoming.retry().context("sending Retry")?;
        return Ok(None);
    }
    Ok(Some(incoming))
}

/// Begins the handshake, when the certificate is there.
///
/// # Errors
/// Where the qlog file cannot be created, or the client's first packet is not acceptable.
pub async fn accept(incoming: Incoming, mut config: ServerConfig, settings: &Settings) -> Result<Connecting> {
    if !settings.certificate_delay.is_zero() {
        // Nothing answers for the connection until it is accepted.
        tokio::time::sleep(settings.certificate_delay).await;
    }
    config.transport_config(transport::config(settings)?);
    Ok(incoming.accept_with(Arc::new(config))?)
}

/// Reads the headers of a request.
///
/// # Errors
/// Where they are malformed, or the connection ends early.
pub async fn resolve(
    request: Request,
) -> Result<(http::Request<()>, RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>)> {
    Ok(request.resolve_request().await?)
}

/// Ends the stream without waiting until the peer has all of it.
///
/// # Errors
/// Where the stream was ended before, or the peer wants no more of it.
pub fn finish(stream: &mut SendStream) -> Result<()> {
    Ok(stream.finish()?)
}
