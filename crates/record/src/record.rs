//! A complete record, as it is read.

use std::path::{Path, PathBuf};

use quiclab_experiment::id_of_folder;
use quiclab_metrics::{RunMetrics, SCHEMA};

use crate::{
    Contents, Observed, RecordError, RunFile, bounded, json,
    layout::{CAPTURE_FILE, CONTENTS_FILE, METRICS_FILE, PATH_FILE, PATH_SCHEMA, RUN_FILE},
    measure::measure_record,
    migrate,
};

/// Records whose `run.toml` has this schema or a later one have a `contents.json`.
const FIRST_WITH_CONTENTS: u64 = 2;

/// A complete record of a transfer.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its folder.
    pub folder: PathBuf,
    /// `run.toml`.
    pub run: RunFile,
    /// `path.json`.
    pub observed: Observed,
    /// `metrics.json`.
    pub metrics: RunMetrics,
}

impl Record {
    /// Reads the record in `folder`. Files of older schemas are converted, and older metrics measured again from the capture; the record itself
    /// stays as it is.
    ///
    /// # Errors
    /// Where a file is missing, cut, damaged, of another record, or of a newer version: the message names it.
    pub fn load(folder: &Path) -> Result<Self, RecordError> {
        check_is_record(folder)?;
        let (run, schema) = RunFile::read_with_schema(folder)?;
        let made_by = run.versions.get("quiclab").map(String::as_str);
        let contents = check_identity(folder, schema, &run.id, made_by)?;
        let observed = read_observed(folder, made_by)?;
        let capture = folder.join(CAPTURE_FILE);
        // A record that notes lengths has had its capture checked.
        if contents.is_none() && !capture.is_file() {
            return Err(RecordError::Missing { path: capture, folder: folder.to_path_buf() });
        }
        let path = folder.join(METRICS_FILE);
        let text = bounded::read_text(&path).map_err(|error| RecordError::reading(&path, folder, error))?;
        let metrics = if json::schema_of(&text, &path, folder, SCHEMA, made_by)? < u64::from(SCHEMA) {
            measure_record(folder, &run.run, &observed)?
        } else {
            RunMetrics::from_json(&text).map_err(|error| RecordError::Malformed {
                path,
                message: first_line(&error),
                folder: folder.to_path_buf(),
            })?
        };
        Ok(Self { folder: folder.to_path_buf(), run, observed, metrics })
    }

    /// Where the capture is.
    pub fn capture(&self) -> PathBuf {
        self.folder.join(CAPTURE_FILE)
    }

    /// True where the folder has at least one of the files that only records have.
    pub(crate) fn has_any_file(folder: &Path) -> bool {
        [RUN_FILE, PATH_FILE, METRICS_FILE].iter().any(|name| folder.join(name).exists())
    }
}

/// Checks that `folder` is a record by its name or its files; they may be damaged.
pub(crate) fn check_is_record(folder: &Path) -> Result<(), RecordError> {
    let named = folder.file_name().and_then(|name| id_of_folder(name.to_str()?));
    let is_other = named.is_none() && !Record::has_any_file(folder);
    if is_other || !folder.is_dir() {
        return Err(RecordError::NoRecord { folder: folder.to_path_buf() });
    }
    Ok(())
}

/// Checks the lengths of a record's files, and that `run.toml` has the identity in the folder's name. `schema` is the one in which `run.toml` was
/// written.
pub(crate) fn check_identity(
    folder: &Path,
    schema: u64,
    id: &str,
    made_by: Option<&str>,
) -> Result<Option<Contents>, RecordError> {
    let contents = Contents::check(folder, made_by)?;
    if contents.is_none() && schema >= FIRST_WITH_CONTENTS {
        return Err(RecordError::Missing { path: folder.join(CONTENTS_FILE), folder: folder.to_path_buf() });
    }
    let named = folder.file_name().and_then(|name| id_of_folder(name.to_str()?));
    match named.filter(|named| *named != id) {
        None => Ok(contents),
        Some(expected) => Err(RecordError::OtherRun {
            path: folder.join(RUN_FILE),
            found: id.to_owned(),
            expected: expected.to_owned(),
            folder: folder.to_path_buf(),
        }),
    }
}

/// Reads `path.json` of a record, or of what is known of a failed run; an older schema is converted. `made_by`: the version of quiclab that has
/// written it, for messages.
///
/// # Errors
/// Where it is missing, damaged, or newer than this version.
pub fn read_observed(folder: &Path, made_by: Option<&str>) -> Result<Observed, RecordError> {
    let path = folder.join(PATH_FILE);
    let text = bounded::read_text(&path).map_err(|error| RecordError::reading(&path, folder, error))?;
    let schema = json::schema_of(&text, &path, folder, PATH_SCHEMA, made_by)?;
    let read = if schema < u64::from(PATH_SCHEMA) {
        serde_json::from_str(&text).and_then(migrate::path_file)
    } else {
        serde_json::from_str(&text)
    };
    read.map_err(|error| RecordError::Malformed { path, message: error.to_string(), folder: folder.to_path_buf() })
}

fn first_line(error: &impl std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
