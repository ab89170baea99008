//! Folders in which things are made, and what killed processes left of them.

use std::{
    fs::{self, DirBuilder, File},
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::{Cache, orphans};
use crate::hash::Hasher;

/// Prefix of folders in which a thing is being made. Each is locked by who makes it.
const NEW: &str = ".new-";
/// Prefix of such folders of earlier versions, which did not lock them.
const FORMER: &str = ".making-";
/// No thing of an earlier version takes as long.
const ABANDONED: Duration = Duration::from_secs(24 * 3600);
/// Locked, shared, while a folder is made and not yet locked itself.
const GATE: &str = ".gate";
/// A file system in memory that everybody can write to.
const MEMORY: &str = "/dev/shm";

/// An empty folder, removed when this is dropped, and after the next start of quiclab where this process is killed.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    /// Locked as long as it is open.
    _lock: File,
}

impl Scratch {
    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Keeps what is in the folder, wherever it was moved.
    pub(super) fn keep(self) {
        let _ = self.folder.keep();
    }
}

impl Cache {
    /// A folder in the cache for what is being made, so that it can be renamed into its place. `below` is a folder of the cache, or empty.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn scratch(&self, below: &str) -> Result<Scratch> {
        let parent = self.path(below);
        fs::create_dir_all(&parent).with_context(|| parent.display().to_string())?;
        self.scratch_in(&parent)
    }

    /// A folder for small files that are written and removed all the time: in memory, where this machine has a place for that, because a file
    /// system on a disk takes more time for each than the work that it is for; otherwise in the cache.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn scratch_for_small_files(&self) -> Result<Scratch> {
        match self.memory().filter(|folder| is_own_folder(folder)) {
            Some(folder) => self.scratch_in(&folder).or_else(|_| self.scratch("")),
            None => self.scratch(""),
        }
    }

    /// The folder in memory that belongs to this cache, made where it is missing; `None` where that is not possible.
    fn memory(&self) -> Option<PathBuf> {
        let folder = self.memory_folder();
        match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => None,
            _ => Some(folder),
        }
    }

    fn memory_folder(&self) -> PathBuf {
        let digest = Hasher::default().part(self.path("").as_os_str().as_encoded_bytes());
        Path::new(MEMORY).join(format!("quiclab-{}", digest.short()))
    }

    fn scratch_in(&self, parent: &Path) -> Result<Scratch> {
        fs::create_dir_all(self.path("")).with_context(|| self.path("").display().to_string())?;
        let gate = self.gate()?;
        gate.lock_shared().context(GATE)?;
        let folder = tempfile::Builder::new().prefix(NEW).tempdir_in(parent);
        let folder = folder.with_context(|| parent.display().to_string())?;
        let lock = File::open(folder.path()).with_context(|| folder.path().display().to_string())?;
        lock.try_lock().with_context(|| folder.path().display().to_string())?;
        Ok(Scratch { folder, _lock: lock })
    }

    /// Removes what processes left that were killed while they made something. Returns how many folders these were.
    ///
    /// # Errors
    /// Where one cannot be removed.
    pub fn remove_leftovers(&self) -> Result<usize> {
        let candidates = self.candidates()?;
        if candidates.is_empty() {
            return Ok(0);
        }
        let gate = self.gate()?;
        gate.lock().context(GATE)?;
        let left: Vec<_> = candidates.into_iter().filter_map(|path| Some((left(&path)?, path))).collect();
        drop(gate);
        let mut removed = 0;
        for (_lock, path) in &left {
            orphans::end(path);
            match fs::remove_dir_all(path) {
                Ok(()) => removed += 1,
                // Whoever made it renamed or removed it after it was listed, and before it was locked here.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(|| path.display().to_string()),
            }
        }
        Ok(removed)
    }

    fn gate(&self) -> Result<File> {
        let path = self.path(GATE);
        File::options().create(true).append(true).open(&path).with_context(|| path.display().to_string())
    }

    /// Folders in which something is being made, or was.
    fn candidates(&self) -> Result<Vec<PathBuf>> {
        let root = self.path("");
        let mut folders = vec![root.clone()];
        folders.extend(subfolders(&root)?.into_iter().filter(|folder| !is_scratch(folder)));
        folders.extend(Some(self.memory_folder()).filter(|folder| is_own_folder(folder)));
        let mut found = Vec::new();
        for folder in folders {
            found.extend(subfolders(&folder)?.into_iter().filter(|folder| is_scratch(folder)));
        }
        Ok(found)
    }
}

/// A lock on a folder that nobody works in any more.
fn left(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    let is_former = path.file_name()?.as_encoded_bytes().starts_with(FORMER.as_bytes());
    let age = file.metadata().ok()?.modified().ok()?.elapsed().unwrap_or_default();
    file.try_lock().ok()?;
    (!is_former || age > ABANDONED).then_some(file)
}

/// Whether it is a folder, no link to one, that nobody but this user can write to: anybody may make one of that name.
fn is_own_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| {
        found.is_dir() && found.uid() == nix::unistd::geteuid().as_raw() && found.mode() & 0o077 == 0
    })
}

fn is_scratch(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.starts_with(NEW.as_bytes()) || name.starts_with(FORMER.as_bytes())
}

/// The folders in a folder; none where it is not there.
fn subfolders(folder: &Path) -> Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| folder.display().to_string())?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folder is listed, then its maker renames it into its place and lets go of the lock, then it is opened: the lock is of a folder with
    /// another name.
    #[test]
    fn a_folder_that_got_its_name_in_between_is_no_leftover() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_path_buf());
        let stop = std::sync::atomic::AtomicBool::new(false);
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..300 {
                    let made = cache.scratch("").unwrap();
                    fs::write(made.path().join("file"), "made").unwrap();
                    fs::rename(made.path(), cache.path(&number.to_string())).unwrap();
                    made.keep();
                }
                stop.store(true, relaxed);
            });
            while !stop.load(relaxed) {
                cache.remove_leftovers().unwrap();
            }
        });
        assert!((0..300).all(|number| cache.path(&number.to_string()).join("file").is_file()));
    }

    #[test]
    fn small_files_are_in_memory_unless_others_can_write_there() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_path_buf());
        let memory = cache.memory_folder();
        if !Path::new(MEMORY).is_dir() {
            return;
        }
        let made = cache.scratch_for_small_files().unwrap();
        assert_eq!(made.path().parent(), Some(&*memory));
        let path = made.path().to_path_buf();
        // Killed: the lock is free, the folder is there.
        let Scratch { folder: kept, _lock } = made;
        let _ = kept.keep();
        drop(_lock);
        assert_eq!(cache.remove_leftovers().unwrap(), 1);
        assert!(!path.exists());
        fs::set_permissions(&memory, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        assert_eq!(cache.scratch_for_small_files().unwrap().path().parent(), Some(folder.path()));
        fs::remove_dir(&memory).unwrap();
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_being_made_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_path_buf());
        let [root, image] = ["", "image"].map(|below| cache.scratch(below).unwrap());
        let left = cache.scratch("image").unwrap();
        let left_path = left.path().to_path_buf();
        fs::write(left_path.join("half"), "made").unwrap();
        // Killed: the lock is free, the folder is there.
        let Scratch { folder: kept, _lock } = left;
        let _ = kept.keep();
        drop(_lock);
        // Of an earlier version, which may be at work.
        fs::create_dir(cache.path("image/.making-x")).unwrap();
        assert_eq!(cache.remove_leftovers().unwrap(), 1);
        assert!(root.path().is_dir() && image.path().is_dir() && !left_path.exists());
        assert!(cache.path("image/.making-x").is_dir());
        let day_ago = std::time::SystemTime::now() - 2 * ABANDONED;
        File::open(cache.path("image/.making-x")).unwrap().set_modified(day_ago).unwrap();
        assert_eq!(cache.remove_leftovers().unwrap(), 1);
        assert_eq!(cache.remove_leftovers().unwrap(), 0);
    }
}
