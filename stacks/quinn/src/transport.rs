//! The transport configuration of one connection.

use std::sync::Arc;

use anyhow::Result;
use quinn::{
    TransportConfig, VarInt,
    congestion::{CubicConfig, NewRenoConfig},
};

use crate::{
    library,
    settings::{CongestionControl, Settings},
};

/// Bytes of one stream that the peer may send ahead; the library's own value, 1.25 MB, would limit transfers. The
/// library does not limit a connection as a whole.
const STREAM_WINDOW: VarInt = VarInt::from_u32(16 * 1024 * 1024);

/// Builds a configuration. Only one connection may use it: it owns the connection's qlog file.
///
/// # Errors
/// Where the qlog file cannot be created.
pub fn config(settings: &Settings) -> Result<Arc<TransportConfig>> {
    let mut config = TransportConfig::default();
    match settings.congestion_control {
        CongestionControl::Cubic => config.congestion_controller_factory(Arc::new(CubicConfig::default())),
        CongestionControl::Reno => config.congestion_controller_factory(Arc::new(NewRenoConfig::default())),
        CongestionControl::Bbr => config.congestion_controller_factory(library::bbr()),
    };
    config.enable_segmentation_offload(settings.gso.is_on()).stream_receive_window(STREAM_WINDOW);
    if let Some(rtt) = settings.handshake.initial_rtt() {
        config.initial_rtt(rtt);
    }
    #[cfg(feature = "qlog")]
    crate::log::begin(&mut config, settings)?;
    Ok(Arc::new(config))
}
