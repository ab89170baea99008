//! The QUIC and TLS configuration: that of the endpoint for virtual machines, with connection IDs of the seed.

// But for its connection IDs, which it reads from /dev/urandom.
#[allow(dead_code)]
#[path = "../vm/transport.rs"]
mod vm;

use anyhow::Result;
use quiclab_sans_io::random;

pub use vm::{MAX_UDP_PAYLOAD, configure, log};

/// A connection id of the longest kind.
///
/// # Errors
/// Where the environment has no seed.
pub fn random_connection_id() -> Result<quiche::ConnectionId<'static>> {
    let mut bytes = vec![0; quiche::MAX_CONN_ID_LEN];
    random::fill_ambient(&mut bytes)?;
    Ok(quiche::ConnectionId::from_vec(bytes))
}
