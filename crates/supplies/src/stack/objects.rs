//! The folder of a build's object files, which makes the next build of the same source folder shorter.

use std::{
    fs::{self, File},
    path::Path,
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result};

use crate::{process::wait_for, siblings::sibling};

/// Makes the folder `objects` ready for a build in the folder `source`, and keeps other builds from it until the file is dropped.
///
/// What another source folder left is removed: make and CMake compare times, and the files of another revision can be older than
/// objects that were made of this one.
///
/// # Errors
/// Where it cannot be removed or written, and [`Interrupted`](crate::process::Interrupted) where `stop` is set while another build has it.
pub(super) fn claim(objects: &Path, source: &Path, stop: &AtomicBool) -> Result<File> {
    let place = |path: &Path| path.display().to_string();
    let parent = objects.parent().context("a folder of objects is in a folder")?;
    fs::create_dir_all(parent).with_context(|| place(parent))?;
    let lock = sibling(objects, "lock");
    let file = File::create(&lock).with_context(|| place(&lock))?;
    wait_for(&file, stop).with_context(|| place(&lock))?;
    let note = sibling(objects, "from");
    let from = fs::canonicalize(source).with_context(|| place(source))?;
    let is_own = fs::read(&note).is_ok_and(|noted| noted == from.as_os_str().as_encoded_bytes());
    if !is_own {
        if objects.exists() {
            fs::remove_dir_all(objects).with_context(|| place(objects))?;
        }
        fs::write(&note, from.as_os_str().as_encoded_bytes()).with_context(|| place(&note))?;
    }
    fs::create_dir_all(objects).with_context(|| place(objects))?;
    Ok(file)
}
