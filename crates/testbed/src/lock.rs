//! Locks of single records, so that many processes, and machines that share the disk, can fill one folder.
//!
//! Whoever makes a record holds the lock on its key: the identity at the end of its name, or the whole name where it has none. The kernel
//! frees the lock when its holder dies, however it dies. What a holder writes until the record is whole lies in folders that name the
//! key, so that leftovers can be told from work in progress: they are removed only by who holds the lock.

use std::{
    collections::BTreeSet,
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use anyhow::{Context, Result};
use quiclab_record::{ASIDE, key};
use quiclab_supplies::process::BETWEEN_TRIES;

use crate::perform::Interrupted;

/// Prefix of the files that are locked.
const LOCK: &str = ".lock-";

/// The right to make one record. Ends when it is dropped.
#[derive(Debug)]
pub struct RecordLock {
    /// Locked as long as it is open.
    _file: File,
    path: PathBuf,
}

impl RecordLock {
    /// Takes the lock on the record `name` of a folder; `None` where another process has it. What a killed holder left of that
    /// record is removed.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub fn try_take(folder: &Path, name: &str) -> Result<Option<Self>> {
        let key = key(name);
        // A holder that ends in order removes its lock and what it wrote aside; a killed one leaves both.
        let is_left = folder.join(format!("{LOCK}{key}")).exists();
        let Some(lock) = Self::try_take_key(folder, key)? else { return Ok(None) };
        if is_left {
            remove_asides(&asides(folder)?, key)?;
        }
        Ok(Some(lock))
    }

    /// The same, and waits until the lock is free.
    ///
    /// # Errors
    /// As [`RecordLock::try_take`], and [`Interrupted`] where `stop` is set meanwhile.
    pub fn take(folder: &Path, name: &str, stop: &AtomicBool) -> Result<Self> {
        loop {
            if let Some(lock) = Self::try_take(folder, name)? {
                return Ok(lock);
            }
            if stop.load(Ordering::Relaxed) {
                return Err(Interrupted::ByRequest.into());
            }
            thread::sleep(BETWEEN_TRIES);
        }
    }

    fn try_take_key(folder: &Path, key: &str) -> Result<Option<Self>> {
        let path = folder.join(format!("{LOCK}{key}"));
        loop {
            let file = File::create(&path).with_context(|| path.display().to_string())?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error).with_context(|| path.display().to_string()),
            }
            // Who had the lock before has removed the file, and another process may have made a new one since.
            let identity = |facts: fs::Metadata| (facts.dev(), facts.ino());
            let mine = identity(file.metadata().with_context(|| path.display().to_string())?);
            match fs::metadata(&path).map(identity) {
                Ok(there) if there == mine => return Ok(Some(Self { _file: file, path })),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(|| path.display().to_string()),
            }
        }
    }
}

impl Drop for RecordLock {
    fn drop(&mut self) {
        // Still locked: nobody else removes it. One that stays does no harm.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what killed processes left in a folder of records, and in that of the `failures`: unfinished records and locks that nobody
/// holds. What other processes are writing stays. Returns how many unfinished records were removed.
///
/// # Errors
/// Where something cannot be removed.
pub fn remove_leftovers(folder: &Path, failures: &Path) -> Result<usize> {
    let mut before = asides(folder)?;
    if failures.is_dir() {
        before.extend(asides(failures)?);
    }
    let mut keys: BTreeSet<_> = before.iter().filter_map(|path| key_of_aside(path)).collect();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        keys.extend(name.strip_prefix(LOCK).map(str::to_owned));
    }
    for key in keys {
        if let Some(_lock) = RecordLock::try_take_key(folder, &key)? {
            remove_asides(&before, &key)?;
        }
    }
    Ok(before.iter().filter(|path| !path.exists()).count())
}

/// Folders in which records are being made, or were until a process was killed.
fn asides(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut asides = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if key_of_aside(&path).is_some() {
            asides.push(path);
        }
    }
    Ok(asides)
}

/// Removes those of `asides` that belong to `key`, whose lock the caller holds.
fn remove_asides(asides: &[PathBuf], key: &str) -> Result<()> {
    for path in asides.iter().filter(|path| key_of_aside(path).as_deref() == Some(key)) {
        match fs::remove_dir_all(path) {
            // The list was made before the lock was taken: its holder then may have finished since.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed.with_context(|| path.display().to_string())?,
        }
    }
    Ok(())
}

/// The key of the record that is made in a folder of that name.
fn key_of_aside(path: &Path) -> Option<String> {
    let rest = path.file_name()?.to_str()?.strip_prefix(ASIDE)?;
    // Earlier versions named no key; then nobody holds a lock on it.
    Some(rest.rsplit_once('~').map_or(rest, |(key, _)| key).to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use quiclab_record::Records;

    const NAME: &str = "quiche-01-0123456789abcdef";
    const SAME_RUN: &str = "quiche-cubic-01-0123456789abcdef";
    const OTHER: &str = "quiche-02-fedcba9876543210";

    #[test]
    fn one_holder_at_a_time_makes_a_run_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let lock = RecordLock::try_take(folder.path(), NAME).unwrap().unwrap();
        assert!(RecordLock::try_take(folder.path(), SAME_RUN).unwrap().is_none());
        let other = RecordLock::try_take(folder.path(), OTHER).unwrap();
        assert!(other.is_some());
        drop(lock);
        assert!(RecordLock::try_take(folder.path(), SAME_RUN).unwrap().is_some());
        drop(other);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "no lock stays behind");
    }

    #[test]
    fn what_a_killed_holder_left_is_removed_and_what_others_write_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let records = Records::open(folder.path()).unwrap();
        let lock = RecordLock::try_take(folder.path(), NAME).unwrap().unwrap();
        let draft = records.begin(NAME).unwrap();
        let mine = draft.folder().to_path_buf();
        let left = records.begin(OTHER).unwrap().keep();
        let of_an_earlier_version = folder.path().join(".partial-x");
        fs::create_dir(&of_an_earlier_version).unwrap();
        let failures = Records::open(&folder.path().join("failed")).unwrap();
        let failing = failures.begin(NAME).unwrap();
        let failed = failures.begin(OTHER).unwrap().keep();
        assert_eq!(remove_leftovers(folder.path(), failures.folder()).unwrap(), 3);
        assert!(failing.folder().exists() && !failed.exists());
        assert!(mine.exists() && !left.exists() && !of_an_earlier_version.exists());
        // A holder that is killed leaves its lock behind, free.
        let abandoned = draft.keep();
        drop(lock);
        File::create(folder.path().join(".lock-0123456789abcdef")).unwrap();
        drop(RecordLock::try_take(folder.path(), SAME_RUN).unwrap().unwrap());
        assert!(!abandoned.exists());
    }

    #[test]
    fn waiting_for_a_lock_ends_with_its_holder_or_with_an_interruption() {
        let folder = tempfile::tempdir().unwrap();
        let lock = RecordLock::try_take(folder.path(), NAME).unwrap().unwrap();
        let error = RecordLock::take(folder.path(), NAME, &AtomicBool::new(true)).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&Interrupted::ByRequest));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| RecordLock::take(folder.path(), NAME, &AtomicBool::new(false)).is_ok());
            thread::sleep(Duration::from_millis(50));
            drop(lock);
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn many_threads_never_hold_one_lock_together() {
        let folder = tempfile::tempdir().unwrap();
        let held = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Some(lock) = RecordLock::try_take(folder.path(), NAME).unwrap() {
                            assert!(!held.swap(true, Ordering::SeqCst), "two holders");
                            held.store(false, Ordering::SeqCst);
                            drop(lock);
                        }
                    }
                });
            }
        });
    }
}
