//! Files of a folder of results. They are written aside first: nobody reads half of one, whenever the process is killed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// The index of a folder of results.
pub const INDEX_FILE: &str = "experiment.json";

/// True for a folder that `quiclab run` has filled.
pub fn holds_results(folder: &Path) -> bool {
    folder.join(INDEX_FILE).is_file()
}

/// Writes the file `name` in a folder of results.
///
/// # Errors
/// Where it cannot be written; an earlier one is then still there.
pub fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> Result<PathBuf> {
    let path = folder.join(name);
    let aside = folder.join(format!(".{name}.partial"));
    let written = fs::write(&aside, bytes).with_context(|| aside.display().to_string());
    let placed = written.and_then(|()| fs::rename(&aside, &path).with_context(|| path.display().to_string()));
    if placed.is_err() {
        // What is left of it would only take room; where there is none, this fails as well.
        let _ = fs::remove_file(&aside);
    }
    placed.map(|()| path)
}

/// Writes the file that a command line names. What is no ordinary file, such as a pipe, is written as it is.
///
/// # Errors
/// As [`write`].
pub fn write_at(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let is_ordinary = fs::symlink_metadata(path).map_or(true, |facts| facts.is_file());
    match (path.parent(), path.file_name().and_then(|name| name.to_str())) {
        (Some(folder), Some(name)) if is_ordinary => write(folder, name, bytes).map(drop),
        _ => fs::write(path, bytes).with_context(|| path.display().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_a_failure_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        write_at(&path, "one").unwrap();
        write_at(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        // A folder is in the way.
        fs::create_dir_all(folder.path().join("taken/below")).unwrap();
        let error = write(folder.path(), "taken", "text").unwrap_err();
        assert!(format!("{error:#}").contains("taken"), "{error:#}");
        let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["page.html", "taken"]);
    }

    #[test]
    fn what_a_link_leads_to_is_written_and_the_link_stays() {
        let folder = tempfile::tempdir().unwrap();
        let [link, target] = ["link", "target"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write_at(&link, "text").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "text");
    }
}
