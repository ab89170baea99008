//! A small record of a transfer, from the first schemas.

#![allow(dead_code)]

use std::path::{Path, PathBuf};

/// Its name.
pub const NAME: &str = "ngtcp2-01-2b01485dbc44d56e";

/// A folder below `tests/data`.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// A folder with a copy of the record.
pub fn copy_of_record() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join(NAME);
    std::fs::create_dir(&record).unwrap();
    copy_below(&data("vm").join(NAME), &record);
    folder
}

fn copy_below(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy_below(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
