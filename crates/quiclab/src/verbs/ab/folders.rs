//! Where the records of a side are.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use quiclab_report::RunRow;
use quiclab_units::ShowPath;

/// The record of a run: below the folder of its side, or of its side and file.
///
/// # Errors
/// Where there is none.
pub fn record_of(side: &Path, run: &RunRow) -> Result<PathBuf> {
    let own = side.join(&run.folder);
    if own.is_dir() {
        return Ok(own);
    }
    let entries = std::fs::read_dir(side).with_context(|| side.shown())?;
    let below = entries.flatten().map(|entry| entry.path().join(&run.folder)).find(|path| path.is_dir());
    below.with_context(|| format!("{}: found no record {}", side.shown(), run.folder))
}
