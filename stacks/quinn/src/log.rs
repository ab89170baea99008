//! One qlog file per connection, if the settings ask for it.

use std::{
    fs::File,
    io::{BufWriter, Write},
    sync::atomic::{AtomicUsize, Ordering},
};

use anyhow::{Context, Result};
use quinn::TransportConfig;

use crate::{library, qlog, settings::Settings};

/// Makes the one connection of this configuration write its qlog.
///
/// # Errors
/// Where the file cannot be created.
pub fn begin(config: &mut TransportConfig, settings: &Settings) -> Result<()> {
    if settings.qlog.is_some() {
        let (title, writer) = next(settings)?;
        qlog::log_events(config, &title, writer);
    }
    Ok(())
}

/// Name and writer of the next connection's qlog file.
fn next(settings: &Settings) -> Result<(String, Box<dyn Write + Send + Sync>)> {
    static CONNECTIONS: AtomicUsize = AtomicUsize::new(1);
    let number = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
    let title = format!("{}-{}-{number}", library::NAME, settings.role.name());
    let path = settings.qlog.as_deref().context("QLOGDIR: found no folder")?.join(format!("{title}.sqlog"));
    let file = File::create(&path).with_context(|| path.display().to_string())?;
    Ok((title, Box::new(BufWriter::new(file))))
}
