//! What `quiclab packets` does.

use std::path::PathBuf;

use quiclab_pages::transfer::filter::Filter;
use quiclab_units::Duration;

/// The packets of a capture that are listed.
#[derive(Clone, Debug)]
pub struct PacketsSettings {
    /// A record or a capture.
    pub path: PathBuf,
    /// Middle of the time that is shown, since the first packet at the tap; `None`: all of it.
    pub around: Option<Duration>,
    /// Time that is shown before and after the middle.
    pub span: Duration,
    /// Conditions that the packets must meet.
    pub filter: Filter,
    /// Name or number of the tap.
    pub tap: Option<String>,
    /// Key logs, in addition to secrets in the capture.
    pub keys: Vec<PathBuf>,
    /// UDP or TCP port of the server; other flows are ignored.
    pub server_port: Option<u16>,
    /// JSON is printed instead of a table.
    pub json: bool,
}
