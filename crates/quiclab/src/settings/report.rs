//! What `quiclab report` does.

use std::path::PathBuf;

/// The results that are reported, and the forms of the report.
#[derive(Clone, Debug)]
pub struct ReportSettings {
    /// A folder of results, or one record.
    pub folder: PathBuf,
    /// A Markdown table is printed.
    pub markdown: bool,
    /// Each run gets a page with its handshake.
    pub ladders: bool,
    /// Each run gets a page with every packet.
    pub pages: bool,
    /// Folder for figures as files.
    pub figures: Option<PathBuf>,
    /// Packets, frames and events are written as Parquet files too.
    pub parquet: bool,
    /// JSON is printed instead of tables.
    pub json: bool,
}
