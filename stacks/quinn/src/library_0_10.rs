//! Where quinn, its release 0.10 and noq differ: this is that release's side, `library.rs` is quinn's, with the same items.

use std::{
    any::Any,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use anyhow::Result;
use bytes::Bytes;
use quiclab_contract::{
    TestCase::{self, ChaCha20, Handshake, Http3, KeyUpdate, Perf, Resumption, Retry, Transfer, ZeroRtt},
    perf::Path,
};
use quinn::{
    Connection, ReadError, RecvStream, SendStream,
    congestion::{Bbr, BbrConfig, Cubic, NewReno},
};

/// Name of the library.
pub const NAME: &str = "quinn";

/// Name of its version of BBR.
pub const BBR: &str = "bbr";

/// What its client does.
pub const CLIENT: &[TestCase] = &[Handshake, Transfer, Retry, ChaCha20, KeyUpdate, Resumption, ZeroRtt, Http3, Perf];

/// Builds BBR controllers.
pub fn bbr() -> Arc<BbrConfig> {
    Arc::default()
}

/// The algorithm that the connection's controller is an instance of.
pub fn congestion_control(connection: &Connection) -> &'static str {
    let controller: Box<dyn Any> = connection.congestion_state().into_any();
    if controller.is::<Cubic>() {
        "cubic"
    } else if controller.is::<NewReno>() {
        "reno"
    } else if controller.is::<Bbr>() {
        BBR
    } else {
        "unknown"
    }
}

/// What is known of the connection's path.
pub fn path(connection: &Connection) -> Option<Path> {
    let path = connection.stats().path;
    Some(Path { rtt: path.rtt, window: path.cwnd, lost: path.lost_packets })
}

/// What comes next on the stream, in order; `None`: nothing more.
///
/// # Errors
/// Where the stream was reset or its connection is lost.
pub async fn read(stream: &mut RecvStream) -> Result<Option<Bytes>, ReadError> {
    Ok(stream.read_chunk(usize::MAX, true).await?.map(|chunk| chunk.bytes))
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
