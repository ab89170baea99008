//! quinn's own qlog; `qlog_noq.rs` is that of noq.

use std::{io::Write, time::Instant};

use quinn::{QlogConfig, TransportConfig};

/// Makes the one connection of this configuration write qlog.
pub fn log_events(transport: &mut TransportConfig, title: &str, writer: Box<dyn Write + Send + Sync>) {
    let mut qlog = QlogConfig::default();
    qlog.writer(writer).title(Some(title.to_owned())).start_time(Instant::now());
    transport.qlog_stream(qlog.into_stream());
}
