//! What both roles tell s2n-quic.

use std::{net::SocketAddr, time::Duration};

use anyhow::Result;
use s2n_quic::provider::{io, limits::Limits};

/// The protocol HTTP/0.9 is negotiated by.
pub const ALPN: &str = "hq-interop";

/// Bytes of flow control, of a stream and of a connection: more than any path here holds.
const WINDOW: u64 = 32 * 1024 * 1024;

pub fn limits() -> Result<Limits> {
    Ok(Limits::new()
        .with_data_window(WINDOW)?
        .with_bidirectional_local_data_window(WINDOW)?
        .with_bidirectional_remote_data_window(WINDOW)?
        .with_max_open_local_bidirectional_streams(1000)?
        .with_max_idle_timeout(Duration::from_secs(30))?)
}

pub fn socket(address: SocketAddr, gso: bool) -> Result<io::Default> {
    Ok(io::Default::builder().with_receive_address(address)?.with_gso(gso)?.build()?)
}

/// Says which type of congestion controller the library was built with.
pub fn report<C>(_: &C) {
    eprintln!("congestion controller: {}", std::any::type_name::<C>());
}
