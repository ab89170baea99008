//! Files that a user names on the command line. Any of them can be a pipe that says nothing, or a device that never ends.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use quiclab_units::{ShowPath, read_bounded};

use crate::session::signals;

/// Standard input, where a file's name is expected.
pub const STANDARD_INPUT: &str = "-";
/// The longest key log: of some 500 000 connections.
const MOST_KEY_LOG_BYTES: u64 = 256 << 20;

/// Opens a file, which may be a pipe or a device. A signal ends this process while it waits for somebody who writes.
///
/// # Errors
/// What the kernel answers.
pub fn open(path: &Path) -> io::Result<File> {
    let _reading = signals::reading();
    File::options().read(true).custom_flags(libc::O_NOCTTY).open(path)
}

/// Reads a file, `-` for standard input, of `most` bytes at most. A signal ends this process meanwhile.
///
/// # Errors
/// Where it cannot be read, or is longer.
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    let _reading = signals::reading();
    let (name, input): (String, Box<dyn Read>) = if path == Path::new(STANDARD_INPUT) {
        ("standard input".to_owned(), Box::new(io::stdin()))
    } else {
        let name = path.shown();
        let file = open(path).with_context(|| name.clone())?;
        (name, Box::new(file))
    };
    read_bounded(input, most).with_context(|| name.clone())
}

/// Reads key logs, each with a line break at its end.
///
/// # Errors
/// As [`read`].
pub fn read_key_logs(files: &[PathBuf]) -> Result<Vec<u8>> {
    let mut key_log = Vec::new();
    for file in files {
        key_log.extend(read(file, MOST_KEY_LOG_BYTES).context("the key log cannot be read")?);
        key_log.push(b'\n');
    }
    Ok(key_log)
}

/// The same as [`read`], of a text. `expected` is for messages, such as `TOML`.
///
/// # Errors
/// As [`read`], and where it is not UTF-8.
pub fn read_text(path: &Path, most: u64, expected: &str) -> Result<String> {
    String::from_utf8(read(path, most)?).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        anyhow::anyhow!("{}: found bytes at offset {place} that are not UTF-8, expected {expected}", path.shown())
    })
}

#[cfg(test)]
mod tests {
    use quiclab_inputs::MOST_TEXT_BYTES;

    use super::*;

    #[test]
    fn a_file_of_the_longest_length_is_read_and_one_byte_more_is_refused_with_the_limit() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "12345678").unwrap();
        assert_eq!(read(file.path(), 8).unwrap(), b"12345678");
        let error = format!("{:#}", read(file.path(), 7).unwrap_err());
        assert!(error.starts_with(&format!("{}: found more than 7 bytes", file.path().display())), "{error}");
        let error = format!("{:#}", read(Path::new("/dev/zero"), MOST_TEXT_BYTES).unwrap_err());
        assert!(error.starts_with("/dev/zero: found more than 16777216 bytes"), "{error}");
    }
}
