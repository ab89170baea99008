//! Putting a finished folder in its place: synced to the disk, in one step, never half.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use nix::{
    errno::Errno,
    fcntl::{AT_FDCWD, RenameFlags, renameat2},
    unistd::syncfs,
};

use crate::RecordError;

/// Puts the finished folder `aside` in the place of `target`, in one step: at any moment, `target` is what it was before or what it is to be.
/// All its files and folders are on the disk before, and the step itself is when this returns.
///
/// An earlier folder `target` is in `aside` afterwards; returns true then.
///
/// # Errors
/// Where something cannot be synced or renamed; `target` is then what it was before.
pub fn put_in_place(aside: &Path, target: &Path) -> Result<bool, RecordError> {
    sync_below(aside)?;
    let replaced = swap(aside, target)?;
    for parent in [target.parent(), aside.parent()].into_iter().flatten() {
        sync(parent)?;
    }
    Ok(replaced)
}

/// Does the same for many finished folders beside each other, as pairs of `aside` and `target`, with one pass over the disk for all: a sync of
/// the file system before the first is put in its place, and one of the folder around them after the last. Where the file system as a whole
/// cannot be synced, each is synced by itself. Returns for each what [`put_in_place`] returns: one that fails does not stop the others.
pub fn put_all_in_place(folder: &Path, pairs: &[(&Path, &Path)]) -> Vec<Result<bool, RecordError>> {
    // Reports what could not be written since the folder was opened; earlier errors were reported by the writes themselves.
    let opened = File::open(folder).and_then(|opened| syncfs(&opened).map(|()| opened).map_err(io::Error::from));
    let Ok(opened) = opened else {
        return pairs.iter().map(|(aside, target)| put_in_place(aside, target)).collect();
    };
    let replaced = pairs.iter().map(|(aside, target)| swap(aside, target)).collect();
    match opened.sync_all() {
        Ok(()) => replaced,
        Err(error) => {
            let failed = || io::Error::new(error.kind(), error.to_string());
            let unless_synced = |_| Err(RecordError::writing(folder)(failed()));
            replaced.into_iter().map(|replaced| replaced.and_then(unless_synced)).collect()
        }
    }
}

/// Puts `aside` in the place of `target` in one step, and an earlier folder `target` in that of `aside`; returns whether there was one.
fn swap(aside: &Path, target: &Path) -> Result<bool, RecordError> {
    let replaced = fs::symlink_metadata(target).is_ok();
    if replaced {
        exchange(aside, target).map_err(|source| match source.raw_os_error().map(Errno::from_raw) {
            Some(Errno::EINVAL | Errno::ENOSYS | Errno::EOPNOTSUPP) => {
                RecordError::NoExchange { path: target.to_path_buf(), source }
            }
            _ => RecordError::Write { path: target.to_path_buf(), source },
        })?;
    } else {
        fs::rename(aside, target).map_err(RecordError::writing(target))?;
    }
    Ok(replaced)
}

/// Swaps two folders in one step.
///
/// # Errors
/// What the system says; `EINVAL` where the file system cannot do it.
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    renameat2(AT_FDCWD, one, AT_FDCWD, other, RenameFlags::RENAME_EXCHANGE).map_err(io::Error::from)
}

/// Writes every file and folder below `folder`, and itself, to the disk.
fn sync_below(folder: &Path) -> Result<(), RecordError> {
    for entry in fs::read_dir(folder).map_err(RecordError::writing(folder))? {
        let entry = entry.map_err(RecordError::writing(folder))?;
        let kind = entry.file_type().map_err(RecordError::writing(&entry.path()))?;
        if kind.is_dir() {
            sync_below(&entry.path())?;
        } else if kind.is_file() {
            sync(&entry.path())?;
        }
    }
    sync(folder)
}

/// Writes a file or a folder to the disk.
pub(crate) fn sync(path: &Path) -> Result<(), RecordError> {
    // The folder of a relative path with one part is the empty path.
    let opened = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    File::open(opened).and_then(|file| file.sync_all()).map_err(RecordError::writing(path))
}
