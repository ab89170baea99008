//! Where quinn 0.10 and later releases differ: what arrives at a server, and how a stream ends. This is the side of 0.10, `release.rs` is
//! that of the later ones, with the same items.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

use anyhow::Result;
use bytes::Bytes;
use h3::server::RequestStream;
use quiclab_contract::TestCase;
/// Connection whose handshake has begun: this release asks the application no earlier.
pub use quinn::Connecting as Incoming;
use quinn::{Connecting, SendStream, ServerConfig};

use crate::{settings::Settings, transport};

/// False: by the time that the application learns of a connection, the ServerHello is on its way.
pub const CERTIFICATE_DELAY: bool = false;

/// False: the client's requests came after the handshake in the run that was looked at.
pub const EARLY_DATA: bool = false;

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

/// Ends the stream without waiting until the peer has all of it.
///
/// # Errors
/// Where the stream was ended before, or the peer wants no more of it.
pub fn finish(stream: &mut SendStream) -> Result<()> {
    // The first poll ends the stream; those after it only look for acknowledgments.
    match pin!(stream.finish()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Ok(outcome?),
        Poll::Pending => Ok(()),
    }
}
