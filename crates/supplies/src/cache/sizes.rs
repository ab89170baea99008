//! What the cache itself writes into the folder of a thing, and the sizes of all other files there.

use std::{fs, path::Path};

use anyhow::{Context, Result};

/// Lists the files of a cached thing with their sizes.
pub(super) const CONTENTS: &str = "contents";
/// Name of the note, in the folder of the thing.
pub(super) const ORIGIN: &str = "origin.json";

/// A line for each file: its size in bytes and its name.
pub(super) fn contents(folder: &Path) -> Result<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        if entry.file_name() != CONTENTS && entry.file_name() != ORIGIN {
            lines.push(format!("{} {}\n", entry.metadata()?.len(), entry.file_name().to_string_lossy()));
        }
    }
    lines.sort();
    Ok(lines.concat())
}

/// What differs from the sizes that were noted, if anything does.
pub(super) fn wrong_sizes(folder: &Path) -> Result<Option<String>> {
    let expected = fs::read(folder.join(CONTENTS)).unwrap_or_default();
    let is_same = contents(folder)?.as_bytes() == expected;
    Ok((!is_same).then(|| "its files or their sizes have changed".to_owned()))
}
