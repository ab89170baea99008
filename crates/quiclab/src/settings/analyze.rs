//! What `quiclab analyze` does.

use std::{num::NonZeroUsize, path::PathBuf};

use quiclab_units::{ByteCount, Duration};

/// The captures that are measured, and the forms of the result.
#[derive(Clone, Debug)]
pub struct AnalyzeSettings {
    /// Captures; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// Key logs, in addition to secrets in the captures.
    pub keys: Vec<PathBuf>,
    /// Qlogs of the server.
    pub qlog: Vec<PathBuf>,
    /// A file of planned send times.
    pub planned: Option<PathBuf>,
    /// UDP or TCP port of the server; other flows are ignored.
    pub server_port: Option<u16>,
    /// Packets with smaller gaps form a train.
    pub train_threshold: Duration,
    /// Length of the windows of rates.
    pub window: Option<Duration>,
    /// Bytes of the response, for goodput where nothing can be decrypted.
    pub response_size: Option<ByteCount>,
    /// All interfaces of a capture are one tap.
    pub merge_interfaces: bool,
    /// Number of threads.
    pub threads: Option<NonZeroUsize>,
    /// Folder for packets, frames and events as Parquet files.
    pub parquet: Option<PathBuf>,
    /// File of a page with figures.
    pub html: Option<PathBuf>,
    /// File of a page with handshakes.
    pub ladder: Option<PathBuf>,
    /// JSON is printed instead of tables.
    pub json: bool,
}
