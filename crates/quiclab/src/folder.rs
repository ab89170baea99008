//! A folder of results: one process writes in it, and nobody reads half a file.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

/// Held by the one process that writes here.
const LOCK_FILE: &str = ".lock";

/// Keeps other processes from writing in a folder until the file is dropped.
///
/// # Errors
/// Where another process is at work here.
pub fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK_FILE);
    let file = File::create(&path).with_context(|| path.display().to_string())?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!("{}: another quiclab is at work here\nhint: wait for it, or use --out DIR", folder.display())
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(|| path.display().to_string()),
    }
}

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
