//! Experiment files, and the files that they name: paths to include, and traces.

use std::{fs::File, io, path::Path};

use anyhow::Result as AnyResult;
use quiclab_experiment::{Experiment, NamedFile};
use quiclab_inputs::{open_below, open_regular, read_all_text};

use super::bounded_input;

/// Reads an experiment file.
///
/// # Errors
/// Where it cannot be read, is no text, or says something that is not allowed.
pub fn read_experiment(path: &Path, profile: Option<&str>) -> AnyResult<Experiment> {
    Ok(Experiment::parse_with_includes(&path.display().to_string(), &read_text(path)?, profile, read)?)
}

/// The text of an experiment file.
///
/// # Errors
/// Where it cannot be read, or is not UTF-8.
pub fn read_text(path: &Path) -> AnyResult<String> {
    bounded_input::read_text(path, quiclab_inputs::MOST_TEXT_BYTES, "TOML")
}

/// Reads a file that an experiment names.
///
/// # Errors
/// Where it is no regular file, too long, no text, or outside of the folder that it has to be in.
pub fn read(named: &NamedFile<'_>) -> Result<String, String> {
    let folder = folder_of(named.experiment);
    let text = open(folder, named.name, named.below).and_then(|file| read_all_text(&file, named.most_bytes));
    text.map_err(|error| match error.kind() {
        // Not the kernel's answer, but ours.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            format!("{error}\nhint: copy the file there; --set path.include=FILE can name any file")
        }
        io::ErrorKind::InvalidData => "found bytes that are not UTF-8, expected text".to_owned(),
        _ => error.to_string(),
    })
}

/// The folder of an experiment file.
pub fn folder_of(experiment: &str) -> &Path {
    Path::new(experiment).parent().unwrap_or(Path::new(""))
}

/// Opens a file that an experiment names, as [`NamedFile`] has its parts, relative to the folder of the experiment.
///
/// # Errors
/// Where it is no regular file, or outside of the folder that it has to be in.
pub fn open(folder: &Path, name: &str, below: Option<&str>) -> io::Result<File> {
    match below {
        Some(below) => open_below(&folder.join(below), folder, Path::new(name)),
        None => open_regular(&folder.join(name)),
    }
}
