//! JSON files of a record with a schema.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::RecordError;

/// The schema of a JSON file; 1 where it does not say.
///
/// # Errors
/// Where the text is no JSON object, or the schema is no number of this or an earlier version.
pub(crate) fn schema_of(
    text: &str,
    path: &Path,
    folder: &Path,
    newest: u32,
    made_by: Option<&str>,
) -> Result<u64, RecordError> {
    let malformed =
        |message| RecordError::Malformed { path: path.to_path_buf(), message, folder: folder.to_path_buf() };
    let value: Value = serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
    if !value.is_object() {
        return Err(malformed("found JSON that is not an object, expected an object".to_owned()));
    }
    let found = match value.get("schema") {
        None => 1,
        Some(schema) => schema
            .as_u64()
            .filter(|schema| *schema > 0)
            .ok_or_else(|| malformed(format!("schema: found {schema}, expected {newest}")))?,
    };
    if found > u64::from(newest) {
        let made_by = made_by.map(str::to_owned);
        return Err(RecordError::Newer { path: path.to_path_buf(), found, oldest: 1, newest, made_by });
    }
    Ok(found)
}

/// Reads a file of the current schema.
///
/// # Errors
/// As [`schema_of`], and where the file has another layout.
pub(crate) fn read<T: DeserializeOwned>(
    text: &str,
    path: &Path,
    folder: &Path,
    newest: u32,
    made_by: Option<&str>,
) -> Result<T, RecordError> {
    schema_of(text, path, folder, newest, made_by)?;
    serde_json::from_str(text).map_err(|error| RecordError::Malformed {
        path: path.to_path_buf(),
        message: error.to_string(),
        folder: folder.to_path_buf(),
    })
}
