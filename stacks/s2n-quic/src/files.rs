//! The files that a server sends and that a client stores.

use std::{
    fs::File,
    io::{self, BufWriter, Read, Write},
    path::Path,
};

use bytes::Bytes;

/// Bytes read from a file and handed to the library at once.
const CHUNK: u64 = 64 * 1024;

/// Bytes that are collected before they are written to a file.
const STORE_BUFFER: usize = 16 * 1024;

/// A file on its way to a client.
pub struct Body {
    file: File,
    /// Bytes that were not read yet.
    left: u64,
}

impl Body {
    /// Opens the file that `path` names below `www`.
    ///
    /// # Errors
    /// What cannot be opened; what is no file or would lead out of `www` is [`io::ErrorKind::NotFound`].
    pub fn open(path: &str, www: &Path) -> io::Result<Self> {
        let not_found = || io::Error::from(io::ErrorKind::NotFound);
        let path = path.strip_prefix('/').ok_or_else(not_found)?;
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(not_found());
        }
        let file = File::open(www.join(path))?;
        let facts = file.metadata()?;
        if !facts.is_file() {
            return Err(not_found());
        }
        Ok(Self { file, left: facts.len() })
    }

    /// The next bytes; `None`: that was all.
    ///
    /// # Errors
    /// Where the file cannot be read or became shorter.
    pub fn next_chunk(&mut self) -> io::Result<Option<Bytes>> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut chunk = vec![0; self.left.min(CHUNK) as usize];
        self.file.read_exact(&mut chunk)?;
        self.left -= chunk.len() as u64;
        Ok(Some(chunk.into()))
    }
}

/// A file that comes from a server.
pub struct Store {
    file: BufWriter<File>,
}

impl Store {
    /// Creates the file, or empties it.
    ///
    /// # Errors
    /// Where that cannot be done.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: BufWriter::with_capacity(STORE_BUFFER, File::create(path)?) })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// Where that cannot be done.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_leave_the_served_folder() {
        let www = std::env::temp_dir();
        for path in ["/../etc/passwd", "//etc/passwd", "/./etc", "etc/passwd", "/", "/no-such-file-here"] {
            let found = Body::open(path, &www).err().map(|error| error.kind());
            assert_eq!(found, Some(io::ErrorKind::NotFound), "{path}");
        }
    }
}
