//! Files in a folder of results: nobody reads half of one.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// Writes a file, aside first.
///
/// # Errors
/// Where it cannot be written.
pub fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    let aside = folder.join(format!(".{name}.partial"));
    fs::write(&aside, text).with_context(|| aside.display().to_string())?;
    fs::rename(&aside, &path).with_context(|| path.display().to_string())?;
    Ok(path)
}
