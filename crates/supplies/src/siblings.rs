//! Files that belong to a folder and stand next to it.

use std::path::{Path, PathBuf};

/// Path of the file with this ending that belongs to a folder; the folder's name may have a dot.
pub fn sibling(folder: &Path, ending: &str) -> PathBuf {
    let mut name = folder.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}
