//! Files that an experiment file names: paths to include, and traces.

use std::{fs, path::Path};

/// The text of the file `name` in the folder of the file `experiment`.
///
/// # Errors
/// Where it cannot be read: why, and where it was looked for.
pub fn read(experiment: &str, name: &str) -> Result<String, String> {
    let path = Path::new(experiment).parent().unwrap_or(Path::new("")).join(name);
    fs::read_to_string(&path).map_err(|error| format!("{error} (looked for {})", path.display()))
}
