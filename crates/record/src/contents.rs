//! `contents.json`: the names, lengths and hashes of a record's files, which reveal a missing, cut or changed one.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use quiclab_inputs::{open_below, open_unlinked};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    RecordError, bounded,
    layout::{CONTENTS_FILE, CONTENTS_SCHEMA},
};

/// What `contents.json` holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// Version of this layout: [`CONTENTS_SCHEMA`].
    pub schema: u32,
    /// What each file was when it was written, by its path in the record. The file itself is not among them.
    pub files: BTreeMap<String, FileFacts>,
}

/// What a file was when it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileFacts {
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal; `None` in the first schema, which had none.
    pub sha256: Option<String>,
}

/// The layout of the first schema: lengths only.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lengths {
    #[serde(rename = "schema")]
    _schema: u32,
    files: BTreeMap<String, u64>,
}

impl Contents {
    /// Contents of the files below `folder`.
    ///
    /// # Errors
    /// Where a folder or a file cannot be read.
    pub fn of(folder: &Path) -> Result<Self, RecordError> {
        let mut files = BTreeMap::new();
        list(folder, "", &mut files)?;
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
        let text = serde_json::to_string_pretty(&contents).expect("string keys, numbers and strings") + "\n";
        fs::write(&path, text).map_err(RecordError::writing(&path))
    }

    /// Reads the file of the record in `folder`. `None` where the record is of a version that did not write it.
    ///
    /// # Errors
    /// Where it cannot be read, or is damaged.
    pub(crate) fn read(folder: &Path, made_by: Option<&str>) -> Result<Option<Self>, RecordError> {
        let path = folder.join(CONTENTS_FILE);
        let text = match bounded::read_text(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| RecordError::reading(&path, folder, error))?,
        };
        if crate::json::schema_of(&text, &path, folder, CONTENTS_SCHEMA, made_by)? > 1 {
            return crate::json::read(&text, &path, folder, CONTENTS_SCHEMA, made_by).map(Some);
        }
        let Lengths { files, .. } = crate::json::read(&text, &path, folder, CONTENTS_SCHEMA, made_by)?;
        let files = files.into_iter().map(|(name, bytes)| (name, FileFacts { bytes, sha256: None }));
        Ok(Some(Self { schema: CONTENTS_SCHEMA, files: files.collect() }))
    }

    /// Checks that each file of the record in `folder` has the length with which it was written. `None` where the record is of a version that
    /// did not note lengths. Files that were added later do no harm.
    ///
    /// # Errors
    /// Where a file is missing, or has another length.
    pub fn check(folder: &Path, made_by: Option<&str>) -> Result<Option<Self>, RecordError> {
        let Some(contents) = Self::read(folder, made_by)? else { return Ok(None) };
        for (name, facts) in &contents.files {
            check_length(folder, name, facts)?;
        }
        Ok(Some(contents))
    }

    /// Reads every file of the record in `folder`, and returns those that are missing or are not what they were when they were written. Empty
    /// for a whole record. Of records of earlier versions, lengths are compared as far as they are known.
    ///
    /// # Errors
    /// Where a file is there and cannot be read, or `contents.json` is damaged.
    pub fn changes(folder: &Path) -> Result<Vec<RecordError>, RecordError> {
        let Some(contents) = Self::read(folder, None)? else { return Ok(Vec::new()) };
        let mut changes = Vec::new();
        for (name, facts) in &contents.files {
            match check_length(folder, name, facts).and_then(|()| check_hash(folder, name, facts)) {
                Ok(()) => {}
                Err(error) if error.is_damage() => changes.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(changes)
    }

    /// Whether hashes are known.
    pub fn has_hashes(&self) -> bool {
        self.files.values().all(|facts| facts.sha256.is_some())
    }
}

fn check_length(folder: &Path, name: &str, facts: &FileFacts) -> Result<(), RecordError> {
    let path = folder.join(name);
    let facts_found = open(folder, name).and_then(|file| file.metadata());
    let found = facts_found.map_err(|error| RecordError::reading(&path, folder, error))?.len();
    if found != facts.bytes {
        return Err(RecordError::Length { path, found, expected: facts.bytes, folder: folder.to_path_buf() });
    }
    Ok(())
}

fn check_hash(folder: &Path, name: &str, facts: &FileFacts) -> Result<(), RecordError> {
    let Some(expected) = &facts.sha256 else { return Ok(()) };
    let path = folder.join(name);
    let found = open(folder, name).and_then(hash).map_err(|error| RecordError::reading(&path, folder, error))?;
    if found != *expected {
        return Err(RecordError::Changed { path, found, expected: expected.clone(), folder: folder.to_path_buf() });
    }
    Ok(())
}

/// Opens a file of a record. Whoever wrote the list may have put any name into it.
fn open(folder: &Path, name: &str) -> io::Result<File> {
    open_below(folder, folder, Path::new(name))
}

/// SHA-256 of a file, in hexadecimal.
fn hash(mut file: File) -> io::Result<String> {
    let (mut hasher, mut buffer) = (Sha256::default(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            Ok(count) => hasher.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn list(folder: &Path, below: &str, files: &mut BTreeMap<String, FileFacts>) -> Result<(), RecordError> {
    let failed = |path: PathBuf| move |source| RecordError::Read { path, source };
    for entry in fs::read_dir(folder).map_err(failed(folder.to_path_buf()))? {
        let entry = entry.map_err(failed(folder.to_path_buf()))?;
        // A name that is not text cannot be in JSON; quiclab itself writes none.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let name = format!("{below}{name}");
        let facts = entry.metadata().map_err(failed(entry.path()))?;
        if facts.is_dir() {
            list(&entry.path(), &format!("{name}/"), files)?;
        } else if facts.is_file() && name != CONTENTS_FILE {
            let sha256 = Some(open_unlinked(&entry.path()).and_then(hash).map_err(failed(entry.path()))?);
            files.insert(name, FileFacts { bytes: facts.len(), sha256 });
        }
    }
    Ok(())
}
