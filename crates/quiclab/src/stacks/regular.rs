//! Files that an endpoint has left. It can put anything in their place: a FIFO that nobody writes to, a link to /dev/zero.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// Opens a regular file, without waiting for anything.
///
/// # Errors
/// Where there is none: for a link, a FIFO or a device, [`io::ErrorKind::InvalidInput`].
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, File::options().read(true))
}

/// The same, for writing too.
///
/// # Errors
/// As [`open`].
pub fn open_to_change(path: &Path) -> io::Result<File> {
    open_with(path, File::options().read(true).write(true))
}

fn open_with(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let is_regular = |facts: &fs::Metadata| facts.is_file();
    let other = || io::Error::new(io::ErrorKind::InvalidInput, "found no regular file");
    if !is_regular(&fs::symlink_metadata(path)?) {
        return Err(other());
    }
    // The endpoint may have replaced it since.
    let file = options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path)?;
    if is_regular(&file.metadata()?) { Ok(file) } else { Err(other()) }
}

/// The first `most` bytes of a regular file, as text.
///
/// # Errors
/// As [`open`].
pub fn start_of(path: &Path, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Bytes on the disk of all that is below a folder. Links are not followed, and what cannot be read counts nothing.
pub fn bytes_below(folder: &Path) -> u64 {
    let mut bytes = 0;
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(facts) if facts.is_dir() => folders.push(entry.path()),
                Ok(facts) if facts.is_file() => bytes += std::os::unix::fs::MetadataExt::blocks(&facts) * 512,
                _ => {}
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, process::Command};

    use super::*;

    #[test]
    fn only_a_regular_file_is_read_and_only_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "abcdef").unwrap();
        assert_eq!(start_of(&at("file"), 4).unwrap(), "abcd");
        assert!(Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
        symlink("/dev/zero", at("link")).unwrap();
        for name in ["fifo", "link", "."] {
            assert_eq!(start_of(&at(name), 4).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
        }
        assert_eq!(start_of(&at("nothing"), 4).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn bytes_are_counted_in_all_folders_and_not_behind_links() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("log"), vec![1; 8192]).unwrap();
        symlink("/", below.join("root")).unwrap();
        assert_eq!(bytes_below(folder.path()), 8192);
    }
}
