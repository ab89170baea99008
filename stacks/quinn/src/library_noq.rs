//! Where quinn and noq differ: this is noq's side, `library.rs` is quinn's, with the same items.

use std::{any::Any, sync::Arc};

use bytes::Bytes;
use quiclab_contract::perf::Path;
use quinn::{
    Connection, PathId, ReadError, RecvStream,
    congestion::{Bbr3, Bbr3Config, Cubic, NewReno},
};

/// Name of the library.
pub const NAME: &str = "noq";

/// Name of its version of BBR.
pub const BBR: &str = "bbr3";

/// False: the pacer lets two packets of early data go in the first 30 ms, too few for `zerortt`.
pub const EARLY_DATA: bool = false;

/// Builds BBR controllers.
pub fn bbr() -> Arc<Bbr3Config> {
    Arc::default()
}

/// The algorithm that the connection's controller is an instance of.
pub fn congestion_control(connection: &Connection) -> &'static str {
    let Some(controller) = connection.congestion_state(PathId::ZERO) else {
        return "unknown";
    };
    let controller: Box<dyn Any> = controller.into_any();
    if controller.is::<Cubic>() {
        "cubic"
    } else if controller.is::<NewReno>() {
        "reno"
    } else if controller.is::<Bbr3>() {
        BBR
    } else {
        "unknown"
    }
}

/// What is known of the connection's first path.
pub fn path(connection: &Connection) -> Option<Path> {
    let path = connection.path_stats(PathId::ZERO)?;
    Some(Path { rtt: path.rtt, window: path.cwnd, lost: path.lost_packets })
}

/// What comes next on the stream, in order; `None`: nothing more.
///
/// # Errors
/// Where the stream was reset or its connection is lost.
pub async fn read(stream: &mut RecvStream) -> Result<Option<Bytes>, ReadError> {
    stream.read_chunk(usize::MAX).await
}
