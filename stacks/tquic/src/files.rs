//! The files that the server answers with.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

use anyhow::{Context, Result};
use bytes::{Buf, Bytes};

/// Bytes read from the file at once.
const CHUNK: u64 = 64 * 1024;

/// A file on its way, read piece by piece.
pub struct Body {
    file: File,
    /// Bytes of the file.
    size: u64,
    /// Bytes of the file that were read into `chunk` so far.
    read: u64,
    /// Bytes that were read and that tquic has not taken yet.
    chunk: Bytes,
}

impl Body {
    /// Opens the file that `path` names below `www`.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] also for what would lead out of `www`.
    pub fn open(path: &[u8], www: &Path) -> io::Result<Self> {
        let not_found = || io::Error::from(io::ErrorKind::NotFound);
        let path = std::str::from_utf8(path).ok().and_then(|path| path.strip_prefix('/')).ok_or_else(not_found)?;
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(not_found());
        }
        let file = File::open(www.join(path))?;
        let facts = file.metadata()?;
        if !facts.is_file() {
            return Err(not_found());
        }
        Ok(Self { file, size: facts.len(), read: 0, chunk: Bytes::new() })
    }

    /// Bytes of the whole file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes to send next, and true where nothing comes after them. Empty only where the file is sent or empty.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn next(&mut self) -> Result<(Bytes, bool)> {
        if self.chunk.is_empty() && self.read < self.size {
            let mut chunk = vec![0; (self.size - self.read).min(CHUNK) as usize];
            self.file.read_exact_at(&mut chunk, self.read).context("reading the file")?;
            self.read += chunk.len() as u64;
            self.chunk = chunk.into();
        }
        Ok((self.chunk.clone(), self.read == self.size))
    }

    /// Counts `bytes` of what [`Self::next`] gave as sent. True: that was the end of the file.
    pub fn take(&mut self, bytes: usize) -> bool {
        self.chunk.advance(bytes);
        self.chunk.is_empty() && self.read == self.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_leave_the_served_folder() {
        let www = std::env::temp_dir();
        for path in ["/../etc/passwd", "//etc/passwd", "/./etc", "etc/passwd", "/", "/no-such-file-here"] {
            assert_eq!(
                Body::open(path.as_bytes(), &www).err().map(|error| error.kind()),
                Some(io::ErrorKind::NotFound),
                "{path}"
            );
        }
    }
}
