//! Files that an endpoint left. A name may be that of a link to a file of the user, or of a pipe that nobody writes to.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

/// Opens a file that is nothing but a file.
pub(super) fn open(path: &Path) -> io::Result<File> {
    quiclab_inputs::open_unlinked(path)
}

/// Reads such a file, of so many bytes at most.
pub(super) fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    quiclab_inputs::read_unlinked(path, most_bytes)
}

/// Removes everything below `folder` that is neither a regular file nor a folder, and says what it was.
pub(super) fn remove_special_files(folder: &Path) -> io::Result<Vec<String>> {
    let mut removed = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if !kind.is_file() {
                let what = if kind.is_symlink() { "a symbolic link" } else { "no regular file" };
                fs::remove_file(entry.path())?;
                removed.push(format!("the log file {:?} is not kept: it is {what}", entry.file_name()));
            }
        }
    }
    removed.sort();
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_pipes_are_neither_followed_nor_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("qlog")).unwrap();
        fs::write(path("good"), "abc").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", path("keys.log")).unwrap();
        nix::unistd::mkfifo(&path("qlog/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(open(&path("keys.log")).is_err());
        assert!(open(&path("qlog/pipe")).unwrap_err().to_string().contains("expected a regular file"));
        let removed = remove_special_files(folder.path()).unwrap();
        let is_not_kept = |name: &str, why: &str| format!("the log file {name:?} is not kept: it is {why}");
        assert_eq!(removed, [is_not_kept("keys.log", "a symbolic link"), is_not_kept("pipe", "no regular file")]);
        assert_eq!(read(&path("good"), 3).unwrap(), b"abc");
        assert!(read(&path("good"), 2).unwrap_err().to_string().contains("found 3 bytes, expected at most 2"));
        assert!(!path("keys.log").exists() && !path("qlog/pipe").exists());
    }
}
