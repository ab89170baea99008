//! Where quinn and noq differ: this is quinn's side, `library_noq.rs` is noq's, with the same items.

use std::{any::Any, sync::Arc};

use bytes::Bytes;
use quiclab_contract::perf::Path;
use quinn::{
    Connection, ReadError, RecvStream,
    congestion::{Bbr, BbrConfig, Cubic, NewReno},
};

/// Name of the library.
pub const NAME: &str = "quinn";

/// Name of its version of BBR.
pub const BBR: &str = "bbr";

/// True: requests of its client can leave as early data.
pub const EARLY_DATA: bool = true;

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
