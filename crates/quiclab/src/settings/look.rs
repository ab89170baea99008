//! What `quiclab look` does.

use std::path::PathBuf;

use quiclab_units::Duration;

/// The transfers of a page, and where it is written.
#[derive(Clone, Debug)]
pub struct LookSettings {
    /// Records and captures, at most two.
    pub paths: Vec<PathBuf>,
    /// Key logs, in addition to secrets in the captures.
    pub keys: Vec<PathBuf>,
    /// Qlogs of the server of the first path; empty: those of a record.
    pub qlog: Vec<PathBuf>,
    /// Name or number of the tap.
    pub tap: Option<String>,
    /// UDP or TCP port of the server; other flows are ignored.
    pub server_port: Option<u16>,
    /// Time of the first packet that is shown, since the first at the tap.
    pub from: Option<Duration>,
    /// Time of the last one.
    pub to: Option<Duration>,
    /// File of the page.
    pub html: Option<PathBuf>,
    /// JSON is printed instead of sentences.
    pub json: bool,
}
