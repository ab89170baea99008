//! Files that an endpoint has left. It can put anything in their place: a FIFO that nobody writes to, a link to /dev/zero.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use quiclab_inputs::open_unlinked;

/// The first `most` bytes of a regular file, as text.
///
/// # Errors
/// Where there is none.
pub fn start_of(path: &Path, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    open_unlinked(path)?.take(most).read_to_end(&mut bytes)?;
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
