//! What arrives at a server of quinn 0.10, connections and requests; `incoming.rs` is for later releases, with the same items.

use anyhow::Result;
use bytes::Bytes;
use h3::server::RequestStream;
use quiclab_contract::TestCase;
/// Connection whose handshake has begun: this release asks the application no earlier.
pub use quinn::Connecting as Incoming;
use quinn::{Connecting, ServerConfig};

use crate::{settings::Settings, transport};

/// False: by the time that the application learns of a connection, the ServerHello is on its way.
pub const CERTIFICATE_DELAY: bool = false;

/// Request with its headers.
pub type Request = (http::Request<()>, RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>);

/// Configures all connections of a server, and a Retry for each where the test case wants one.
///
/// # Errors
/// Where no configuration can be built.
pub fn prepare(config: &mut ServerConfig, settings: &Settings) -> Result<()> {
    config.transport_config(transport::config(settings)?);
    config.use_retry(settings.test_case == TestCase::Retry);
    Ok(())
}

/// Returns the connection: the endpoint has validated its address.
///
/// # Errors
/// None.
pub fn validate(incoming: Incoming, _: &Settings) -> Result<Option<Incoming>> {
    Ok(Some(incoming))
}

/// Returns the connection: the endpoint has accepted it.
///
/// # Errors
/// None.
#[allow(clippy::unused_async, reason = "later releases wait here for the certificate")]
pub async fn accept(incoming: Incoming, _: ServerConfig, _: &Settings) -> Result<Connecting> {
    Ok(incoming)
}

/// Returns the request: h3 has read its headers.
///
/// # Errors
/// None.
#[allow(clippy::unused_async, reason = "later releases read the headers here")]
pub async fn resolve(request: Request) -> Result<Request> {
    Ok(request)
}
