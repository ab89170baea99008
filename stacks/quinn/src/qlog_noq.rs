//! noq's own qlog; `qlog.rs` is that of quinn.

use std::{
    fmt,
    io::Write,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use quinn::{ConnectionId, QlogConfig, QlogFactory, Side, TransportConfig};

/// Makes the one connection of this configuration write qlog.
pub fn log_events(transport: &mut TransportConfig, title: &str, writer: Box<dyn Write + Send + Sync>) {
    transport.qlog_factory(Arc::new(Once { title: title.to_owned(), writer: Mutex::new(Some(writer)) }));
}

/// Gives its writer to the first connection that asks.
struct Once {
    title: String,
    writer: Mutex<Option<Box<dyn Write + Send + Sync>>>,
}

impl QlogFactory for Once {
    fn for_connection(&self, _: Side, _: SocketAddr, _: ConnectionId, _: Instant) -> Option<QlogConfig> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let mut qlog = QlogConfig::new(writer);
        qlog.title(Some(self.title.clone()));
        Some(qlog)
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.title)
    }
}
