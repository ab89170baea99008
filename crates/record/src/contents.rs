//! `contents.json`: the names and lengths of a record's files, by which a missing or cut one is noticed.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    RecordError,
    layout::{CONTENTS_FILE, CONTENTS_SCHEMA},
};

/// What `contents.json` holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// Version of this layout: [`CONTENTS_SCHEMA`].
    pub schema: u32,
    /// Length in bytes of each file, by its path in the record. The file itself is not among them.
    pub files: BTreeMap<String, u64>,
}

impl Contents {
    /// Of the files below `folder`.
    ///
    /// # Errors
    /// Where a folder cannot be read.
    pub fn of(folder: &Path) -> Result<Self, RecordError> {
        let mut files = BTreeMap::new();
        list(folder, "", &mut files)?;
        files.remove(CONTENTS_FILE);
        Ok(Self { schema: CONTENTS_SCHEMA, files })
    }

    /// Writes the file into `folder`, for what is there now. A file that is linked from another record is replaced, not changed.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(folder: &Path) -> Result<(), RecordError> {
        let contents = Self::of(folder)?;
        let path = folder.join(CONTENTS_FILE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(RecordError::writing(&path)(error)),
            _ => {}
        }
        let text = serde_json::to_string_pretty(&contents).expect("string keys, and numbers") + "\n";
        fs::write(&path, text).map_err(RecordError::writing(&path))
    }

    /// Checks that each file of the record in `folder` has the length with which it was written. `None` where the record is of a version that
    /// did not note lengths. Files that were added later do no harm.
    ///
    /// # Errors
    /// Where a file is missing, or has another length.
    pub fn check(folder: &Path, made_by: Option<&str>) -> Result<Option<Self>, RecordError> {
        let path = folder.join(CONTENTS_FILE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| RecordError::reading(&path, folder, error))?,
        };
        let contents: Self = crate::json::read(&text, &path, folder, CONTENTS_SCHEMA, made_by)?;
        for (name, expected) in &contents.files {
            let path = folder.join(name);
            let facts = fs::metadata(&path).map_err(|error| RecordError::reading(&path, folder, error))?;
            if facts.len() != *expected {
                return Err(RecordError::Length {
                    path,
                    found: facts.len(),
                    expected: *expected,
                    folder: folder.to_path_buf(),
                });
            }
        }
        Ok(Some(contents))
    }
}

fn list(folder: &Path, below: &str, files: &mut BTreeMap<String, u64>) -> Result<(), RecordError> {
    let failed = |path: PathBuf| move |source| RecordError::Read { path, source };
    for entry in fs::read_dir(folder).map_err(failed(folder.to_path_buf()))? {
        let entry = entry.map_err(failed(folder.to_path_buf()))?;
        // A name that is not text cannot be in JSON; quiclab itself writes none.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let facts = entry.metadata().map_err(failed(entry.path()))?;
        if facts.is_dir() {
            list(&entry.path(), &format!("{below}{name}/"), files)?;
        } else if facts.is_file() {
            files.insert(format!("{below}{name}"), facts.len());
        }
    }
    Ok(())
}
