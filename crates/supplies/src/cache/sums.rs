//! The hashes of a cached thing's files: SHA-256, written when the thing is made.
//!
//! File systems for guests are as long as the devices that carry them, and mostly holes. Zeros at the end of a file therefore do not count
//! for its hash, and holes are not read; the length is kept beside the hash.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom, Write},
    os::{
        fd::AsFd,
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use nix::{
    errno::Errno,
    unistd::{Whence, lseek},
};
use serde::{Deserialize, Serialize};

use super::sizes::{CONTENTS, ORIGIN};
use crate::hash::Hasher;

/// Name of the list, in the folder of the thing.
pub(super) const SUMS: &str = "sums";
/// A folder of a thing whose files have no hashes: they were taken out of another thing that has them, and links among them lead out of it.
pub const TREE: &str = "tree";
/// What is read at once.
const CHUNK: usize = 1 << 18;
/// Zeros that are hashed at once.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// What a file's facts are while nobody writes to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    bytes: u64,
    inode: u64,
    device: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Facts {
    fn of(path: &Path) -> io::Result<Self> {
        let facts = fs::symlink_metadata(path)?;
        // A file may be a link into another cache.
        let facts = if facts.is_symlink() { fs::metadata(path).unwrap_or(facts) } else { facts };
        Ok(Self {
            bytes: facts.len(),
            inode: facts.ino(),
            device: facts.dev(),
            modified: (facts.mtime(), facts.mtime_nsec()),
            changed: (facts.ctime(), facts.ctime_nsec()),
        })
    }

    /// Its length.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// When the file changed last, s since the Unix epoch.
    pub(super) fn changed_seconds(&self) -> i64 {
        self.changed.0.max(self.modified.0)
    }
}

/// The files of a thing, by their paths in it, with the lists that the cache keeps of it left out.
pub(super) fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Facts>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        let place = folder.join(&below);
        for entry in fs::read_dir(&place).with_context(|| place.display().to_string())? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if below.as_os_str().is_empty() && path == Path::new(TREE) {
                continue;
            }
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if !(below.as_os_str().is_empty() && is_list(&path)) {
                let facts = Facts::of(&entry.path()).with_context(|| entry.path().display().to_string())?;
                found.insert(path, facts);
            }
        }
    }
    Ok(found)
}

fn is_list(path: &Path) -> bool {
    [SUMS, CONTENTS, ORIGIN].iter().any(|name| path == Path::new(name))
}

/// The hash of a file, or of what a link says.
///
/// # Errors
/// Where it cannot be read.
pub(super) fn of_file(path: &Path) -> Result<String> {
    let place = || path.display().to_string();
    match fs::metadata(path) {
        Ok(facts) if facts.is_file() => of_sparse(File::open(path).with_context(place)?).with_context(place),
        // To a folder, or to nowhere: it is as good as what it says.
        _ => {
            let target = fs::read_link(path).with_context(place)?;
            Ok(Hasher::default().part(b"link").part(target.as_os_str().as_bytes()).hex())
        }
    }
}

/// The hash of everything up to the last byte that is not zero.
fn of_sparse(mut file: File) -> io::Result<String> {
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; CHUNK];
    // The end of what was hashed.
    let mut done = 0_u64;
    let mut position = 0_i64;
    loop {
        let data = match lseek(file.as_fd(), position, Whence::SeekData) {
            Ok(data) => data,
            Err(Errno::ENXIO) => return Ok(hasher.hex()),
            Err(error) => return Err(error.into()),
        };
        let hole = lseek(file.as_fd(), data, Whence::SeekHole)?;
        file.seek(SeekFrom::Start(data as u64))?;
        let mut at = data as u64;
        while at < hole as u64 {
            let wanted = buffer.len().min((hole as u64 - at) as usize);
            let count = match file.read(&mut buffer[..wanted])? {
                // It became shorter meanwhile, which its facts show.
                0 => return Ok(hasher.hex()),
                count => count,
            };
            if let Some(last) = buffer[..count].iter().rposition(|byte| *byte != 0) {
                let mut zeros = at - done;
                while zeros > 0 {
                    let some = zeros.min(ZEROS.len() as u64);
                    hasher.write_all(&ZEROS[..some as usize])?;
                    zeros -= some;
                }
                hasher.write_all(&buffer[..=last])?;
                done = at + last as u64 + 1;
            }
            at += count as u64;
        }
        position = hole;
    }
}

/// Hashes of files by their names, as the list has them.
pub(super) type Sums = BTreeMap<String, (String, u64)>;

/// Hashes all files of a thing.
///
/// # Errors
/// Where one cannot be read.
pub(super) fn of_folder(folder: &Path) -> Result<Sums> {
    let files = files(folder)?.into_iter();
    files.map(|(path, facts)| Ok((escaped(&path), (of_file(&folder.join(&path))?, facts.bytes)))).collect()
}

/// A path as one word of a line.
pub(super) fn escaped(path: &Path) -> String {
    path.as_os_str().as_bytes().escape_ascii().to_string()
}

/// Writes the list of a thing that was just made.
///
/// # Errors
/// Where a file cannot be read, or the list not be written.
pub(super) fn write(folder: &Path) -> Result<()> {
    let lines = of_folder(folder)?.into_iter().map(|(name, (sum, bytes))| format!("{sum} {bytes} {name}\n"));
    fs::write(folder.join(SUMS), lines.collect::<String>()).context(SUMS)
}

/// The list of a thing; `None` where an earlier version of quiclab made it, which kept none.
///
/// # Errors
/// Where the list is no list.
pub(super) fn read(folder: &Path) -> Result<Option<Sums>> {
    let path = folder.join(SUMS);
    let text = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        text => text.with_context(|| path.display().to_string())?,
    };
    let text = String::from_utf8_lossy(&text);
    let parse = |line: &str| {
        let (sum, rest) = line.split_once(' ')?;
        let (bytes, name) = rest.split_once(' ')?;
        Some((name.to_owned(), (sum.to_owned(), bytes.parse().ok()?)))
    };
    let mut sums = Sums::new();
    for (number, line) in text.lines().enumerate() {
        let Some((name, sum)) = parse(line) else {
            bail!("{}: line {}: found {line:?}, expected a hash, a length and a name", path.display(), number + 1);
        };
        sums.insert(name, sum);
    }
    Ok(Some(sums))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, symlink};

    use super::*;

    #[test]
    fn zeros_at_the_end_and_holes_do_not_count_and_everything_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let sum = || of_file(&path).unwrap();
        fs::write(&path, b"abc").unwrap();
        // FIPS 180-2, appendix B.1.
        let plain = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sum(), plain);
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(1 << 32).unwrap();
        assert_eq!(sum(), plain);
        file.write_all_at(&[0; 5000], 8192).unwrap();
        assert_eq!(sum(), plain, "zeros that are written are as good as a hole");
        file.write_all_at(&[1], 1 << 20).unwrap();
        let mut whole = vec![0; (1 << 20) + 1];
        whole[..3].copy_from_slice(b"abc");
        whole[1 << 20] = 1;
        let other = folder.path().join("other");
        fs::write(&other, whole).unwrap();
        assert_eq!(sum(), of_file(&other).unwrap(), "a hole is as good as zeros");
        assert_ne!(sum(), plain);
    }

    #[test]
    fn a_list_is_read_as_it_was_written_whatever_the_names() {
        let folder = tempfile::tempdir().unwrap();
        let odd = std::ffi::OsStr::from_bytes(b"new\nline \xff");
        fs::create_dir(folder.path().join("files")).unwrap();
        fs::write(folder.path().join("files").join(odd), "x").unwrap();
        symlink("nowhere", folder.path().join("files/link")).unwrap();
        fs::write(folder.path().join("plain"), "").unwrap();
        write(folder.path()).unwrap();
        let sums = read(folder.path()).unwrap().unwrap();
        assert_eq!(sums, of_folder(folder.path()).unwrap());
        assert_eq!(sums.keys().collect::<Vec<_>>(), ["files/link", r"files/new\nline \xff", "plain"]);
        fs::write(folder.path().join(SUMS), "nonsense\n").unwrap();
        assert!(read(folder.path()).unwrap_err().to_string().contains("line 1: found \"nonsense\""));
        fs::remove_file(folder.path().join(SUMS)).unwrap();
        assert_eq!(read(folder.path()).unwrap(), None);
    }
}
