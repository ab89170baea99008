//! The files that the server answers with.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

use anyhow::{Result, bail};

/// Bytes read from the file at once.
const CHUNK: usize = 64 * 1024;

/// A file on its way, read piece by piece.
pub struct Body {
    file: File,
    /// Bytes of the file.
    size: u64,
    /// Bytes of the file that were read into `chunk` so far.
    read: u64,
    chunk: Vec<u8>,
    /// Bytes of `chunk` that quiche has taken.
    taken: usize,
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
        Ok(Self { file, size: facts.len(), read: 0, chunk: Vec::new(), taken: 0 })
    }

    /// Bytes of the whole file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes to send next, and true where nothing comes after them. Empty only where the file is sent or empty.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn next(&mut self) -> Result<(&[u8], bool)> {
        if self.taken == self.chunk.len() && self.read < self.size {
            self.read_chunk()?;
        }
        Ok((&self.chunk[self.taken..], self.read == self.size))
    }

    /// Counts `bytes` of what [`Self::next`] gave as sent. True: that was the end of the file.
    pub fn take(&mut self, bytes: usize) -> bool {
        self.taken += bytes;
        self.taken == self.chunk.len() && self.read == self.size
    }

    fn read_chunk(&mut self) -> Result<()> {
        self.chunk.resize((self.size - self.read).min(CHUNK as u64) as usize, 0);
        self.taken = 0;
        let read = self.file.read_at(&mut self.chunk, self.read)?;
        if read == 0 {
            bail!("the file became shorter: found {} bytes, expected {}", self.read, self.size);
        }
        self.chunk.truncate(read);
        self.read += read as u64;
        Ok(())
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
