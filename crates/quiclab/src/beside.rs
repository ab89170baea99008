//! Files that an experiment file names: paths to include, and traces.

use std::{fs::File, path::Path};

use quiclab_units::{ShowPath, read_text_bounded};

use crate::given::MOST_TRACE_BYTES;

/// The text of the file `name` in the folder of the file `experiment`.
///
/// # Errors
/// Where it cannot be read: why, and where it was looked for.
pub fn read(experiment: &str, name: &str) -> Result<String, String> {
    let path = Path::new(experiment).parent().unwrap_or(Path::new("")).join(name);
    File::open(&path)
        .and_then(|file| read_text_bounded(file, MOST_TRACE_BYTES))
        .map_err(|error| format!("{error} (looked for {})", path.shown()))
}
