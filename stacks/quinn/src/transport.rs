//! The transport configuration of one connection.

use std::{
    fs::File,
    io::{BufWriter, Write},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::{Context, Result};
use quinn::{
    TransportConfig, VarInt,
    congestion::{ControllerFactory, CubicConfig, NewRenoConfig},
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
    let controller: Arc<dyn ControllerFactory + Send + Sync> = match settings.congestion_control {
        CongestionControl::Cubic => Arc::new(CubicConfig::default()),
        CongestionControl::Reno => Arc::new(NewRenoConfig::default()),
        CongestionControl::Bbr => library::bbr(),
    };
    let mut config = TransportConfig::default();
    config
        .congestion_controller_factory(controller)
        .enable_segmentation_offload(settings.gso.is_on())
        .stream_receive_window(STREAM_WINDOW);
    if let Some(rtt) = settings.handshake.initial_rtt() {
        config.initial_rtt(rtt);
    }
    if settings.qlog.is_some() {
        let (title, writer) = qlog(settings)?;
        library::log_events(&mut config, &title, writer);
    }
    Ok(Arc::new(config))
}

/// Name and writer of the next connection's qlog file.
fn qlog(settings: &Settings) -> Result<(String, Box<dyn Write + Send + Sync>)> {
    static CONNECTIONS: AtomicUsize = AtomicUsize::new(1);
    let number = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
    let title = format!("{}-{}-{number}", library::NAME, settings.role.name());
    let path = settings.qlog.as_deref().context("QLOGDIR: found no folder")?.join(format!("{title}.sqlog"));
    let file = File::create(&path).with_context(|| path.display().to_string())?;
    Ok((title, Box::new(BufWriter::new(file))))
}
