//! Who uses a cached thing, and when it was used last.
//!
//! Each thing has a file beside it that is locked: shared by every process that uses the thing, until the process ends, and exclusively by
//! one that removes it. The kernel frees the lock of a process that dies, however it dies. The file's time is that of the last use.

use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::PoisonError,
    time::SystemTime,
};

use anyhow::{Context, Result};

use super::Cache;

/// Folder of these files, below the cache's.
pub(super) const USED: &str = ".used";

impl Cache {
    /// Keeps `name` from being removed as long as this process lives, and notes that it is used now. Whether it is there is to be asked
    /// afterwards.
    ///
    /// # Errors
    /// Where the lock cannot be taken.
    pub fn hold(&self, name: &str) -> Result<()> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.contains_key(name) {
            return Ok(());
        }
        let path = self.sibling_of(name, "lock");
        let lock = locked(&path, |file| file.lock_shared())
            .or_else(|error| if is_read_only(&error) { Ok(None) } else { Err(error) })
            .with_context(|| path.display().to_string())?;
        if let Some(lock) = lock {
            // A time that cannot be set makes the thing look older than it is.
            let _ = lock.set_modified(SystemTime::now());
            held.insert(name.to_owned(), lock);
        }
        Ok(())
    }

    /// Does what [`Cache::hold`] does, for who then uses the thing without asking for its folder.
    ///
    /// # Errors
    /// As [`Cache::hold`].
    pub fn use_held(&self, name: &str) -> Result<()> {
        self.hold(name)?;
        self.tell_origin(name);
        Ok(())
    }

    /// The exclusive right to a thing; `None` where a process uses it.
    pub(super) fn try_own(&self, name: &str) -> Result<Option<File>> {
        let path = self.sibling_of(name, "lock");
        let try_lock = |file: &File| match file.try_lock() {
            Ok(()) => Ok(()),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        };
        match locked(&path, try_lock) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            lock => lock.with_context(|| path.display().to_string()),
        }
    }

    /// When a thing was used last, as far as this is known.
    pub(super) fn last_use(&self, name: &str) -> Option<SystemTime> {
        fs::metadata(self.sibling_of(name, "lock")).and_then(|facts| facts.modified()).ok()
    }

    /// A file about a thing.
    pub(super) fn sibling_of(&self, name: &str, ending: &str) -> PathBuf {
        self.path(&format!("{USED}/{name}.{ending}"))
    }
}

/// Opens the file at `path` and locks it.
fn locked(path: &Path, lock: impl Fn(&File) -> io::Result<()>) -> io::Result<Option<File>> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    loop {
        let file = File::options().create(true).append(true).open(path)?;
        lock(&file)?;
        // Who removed the thing has removed the file as well, and another process may have made a new one since.
        let mine = file.metadata()?;
        match fs::metadata(path) {
            Ok(there) if (there.dev(), there.ino()) == (mine.dev(), mine.ino()) => return Ok(Some(file)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}

/// Nothing can be removed from a cache that cannot be written, and nothing noted in it.
fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
}
