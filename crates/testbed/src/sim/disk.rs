//! How much an endpoint writes: a limit on each file does not bound how many there are.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Time between two looks.
const BETWEEN: Duration = Duration::from_millis(250);
/// Files and folders of an endpoint beside those that are transferred.
const MOST_FILES: u64 = 10_000;

/// Looks at a folder now and then.
pub(super) struct Watch {
    folder: PathBuf,
    most_bytes: u64,
    most_files: u64,
    next: Instant,
}

impl Watch {
    /// Makes the watch of a folder in which so many files are transferred, and in which there may be so many bytes.
    pub(super) fn new(folder: &Path, transferred_files: u64, most_bytes: u64) -> Self {
        let most_files = MOST_FILES.saturating_add(transferred_files);
        Self { folder: folder.to_owned(), most_bytes, most_files, next: Instant::now() + BETWEEN }
    }

    /// What is too much, where it is time to look and something is.
    pub(super) fn look(&mut self, now: Instant) -> io::Result<Option<String>> {
        if now < self.next {
            return Ok(None);
        }
        let found = self.look_now();
        self.next = Instant::now() + BETWEEN;
        found
    }

    /// What is too much, where something is.
    pub(super) fn look_now(&self) -> io::Result<Option<String>> {
        let (mut bytes, mut files) = (0u64, 0u64);
        let mut folders = vec![self.folder.clone()];
        while let Some(folder) = folders.pop() {
            let entries = match fs::read_dir(&folder) {
                Ok(entries) => entries,
                // The endpoint may have removed it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            for entry in entries {
                let entry = entry?;
                let Ok(about) = entry.metadata() else { continue };
                files += 1;
                bytes = bytes.saturating_add(about.len());
                if about.is_dir() {
                    folders.push(entry.path());
                }
                if files > self.most_files {
                    return Ok(Some(format!("found more than {} files and folders", self.most_files)));
                }
                if bytes > self.most_bytes {
                    return Ok(Some(format!("found more than {} bytes in its files", self.most_bytes)));
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_files_are_counted_through_all_folders() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        let room = fs::metadata(folder.path().join("a")).unwrap().len();
        for name in ["a/b", "c"] {
            fs::write(folder.path().join(name), [0; 100]).unwrap();
        }
        let look =
            |files, bytes| Watch { most_files: files, ..Watch::new(folder.path(), 0, bytes) }.look_now().unwrap();
        assert_eq!(look(3, 200 + room), None);
        assert_eq!(look(2, 200 + room).unwrap(), "found more than 2 files and folders");
        assert_eq!(look(3, 199 + room).unwrap(), format!("found more than {} bytes in its files", 199 + room));
    }
}
