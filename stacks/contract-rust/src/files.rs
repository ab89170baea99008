//! The files that a server answers with.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt,
    path::Path,
};

/// Bytes read from a file at once.
const CHUNK: u64 = 64 * 1024;

/// Opens the file that the path of a request names below `www`, and says how many bytes it has.
///
/// # Errors
/// What cannot be opened; what is no file or would lead out of `www` is [`io::ErrorKind::NotFound`].
pub fn open(path: &[u8], www: &Path) -> io::Result<(File, u64)> {
    let not_found = || io::Error::from(io::ErrorKind::NotFound);
    let path = str::from_utf8(path).ok().and_then(|path| path.strip_prefix('/')).ok_or_else(not_found)?;
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(not_found());
    }
    let file = File::open(www.join(path))?;
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(not_found());
    }
    Ok((file, facts.len()))
}

/// A file on its way to a client, in pieces that are handed over whole.
pub struct Body {
    file: File,
    size: u64,
    left: u64,
}

impl Body {
    /// Opens the file that `path` names below `www`.
    ///
    /// # Errors
    /// Those of [`open`].
    pub fn open(path: &[u8], www: &Path) -> io::Result<Self> {
        let (file, size) = open(path, www)?;
        Ok(Self { file, size, left: size })
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes that were not read yet.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The next bytes; `None`: that was all.
    ///
    /// # Errors
    /// Where the file cannot be read or became shorter.
    pub fn next_chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut chunk = vec![0; self.left.min(CHUNK) as usize];
        self.file.read_exact(&mut chunk)?;
        self.left -= chunk.len() as u64;
        Ok(Some(chunk))
    }
}

/// A file on its way to a client, for stacks that take a part of what they are given.
pub struct PartialBody {
    file: File,
    size: u64,
    /// Bytes of the file that were read into `chunk` so far.
    read: u64,
    chunk: Vec<u8>,
    /// Bytes of `chunk` that the stack has taken.
    taken: usize,
}

impl PartialBody {
    /// Opens the file that `path` names below `www`.
    ///
    /// # Errors
    /// Those of [`open`].
    pub fn open(path: &[u8], www: &Path) -> io::Result<Self> {
        let (file, size) = open(path, www)?;
        Ok(Self { file, size, read: 0, chunk: Vec::new(), taken: 0 })
    }

    /// Bytes of the whole file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes to send next, and true where nothing comes after them. Empty only where the file is sent or empty.
    ///
    /// # Errors
    /// Where the file cannot be read or became shorter.
    pub fn rest(&mut self) -> io::Result<(&[u8], bool)> {
        if self.taken == self.chunk.len() && self.read < self.size {
            self.read_chunk()?;
        }
        Ok((&self.chunk[self.taken..], self.read == self.size))
    }

    /// Counts `bytes` of what [`Self::rest`] gave as sent. True: that was the end of the file.
    pub fn take(&mut self, bytes: usize) -> bool {
        self.taken += bytes;
        self.taken == self.chunk.len() && self.read == self.size
    }

    fn read_chunk(&mut self) -> io::Result<()> {
        self.chunk.resize((self.size - self.read).min(CHUNK) as usize, 0);
        self.taken = 0;
        let read = self.file.read_at(&mut self.chunk, self.read)?;
        if read == 0 {
            let facts = format!("the file became shorter: found {} bytes, expected {}", self.read, self.size);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, facts));
        }
        self.chunk.truncate(read);
        self.read += read as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn a_path_cannot_leave_the_served_folder() {
        let www = Folder::new("leave");
        std::fs::create_dir(www.0.join("folder")).unwrap();
        for path in ["/../etc/passwd", "//etc/passwd", "/./etc", "etc/passwd", "/", "/no-such-file-here", "/folder", ""]
        {
            let found = open(path.as_bytes(), &www.0).err().map(|error| error.kind());
            assert_eq!(found, Some(io::ErrorKind::NotFound), "{path}");
        }
        assert_eq!(open(b"/\xff", &www.0).err().map(|error| error.kind()), Some(io::ErrorKind::NotFound));
    }

    #[test]
    fn a_file_comes_in_pieces_that_are_the_whole() {
        let www = Folder::new("pieces");
        let bytes: Vec<u8> = (0..CHUNK * 2 + 1).map(|number| number as u8).collect();
        std::fs::write(www.0.join("file"), &bytes).unwrap();
        let mut body = Body::open(b"/file", &www.0).unwrap();
        assert_eq!((body.size(), body.left()), (CHUNK * 2 + 1, CHUNK * 2 + 1));
        let mut found = Vec::new();
        while let Some(chunk) = body.next_chunk().unwrap() {
            found.push(chunk);
        }
        assert_eq!((found.len(), body.left()), (3, 0));
        assert_eq!(found.concat(), bytes);
    }

    #[test]
    fn a_file_that_becomes_shorter_is_an_error() {
        let www = Folder::new("shorter");
        std::fs::write(www.0.join("file"), b"12").unwrap();
        let mut body = Body::open(b"/file", &www.0).unwrap();
        let mut partial = PartialBody::open(b"/file", &www.0).unwrap();
        std::fs::write(www.0.join("file"), b"").unwrap();
        assert!(body.next_chunk().is_err());
        assert!(partial.rest().is_err());
    }

    #[test]
    fn a_file_can_be_taken_in_parts() {
        let www = Folder::new("parts");
        let bytes: Vec<u8> = (0..CHUNK + 5).map(|number| number as u8).collect();
        std::fs::write(www.0.join("file"), &bytes).unwrap();
        std::fs::write(www.0.join("empty"), b"").unwrap();
        let mut body = PartialBody::open(b"/file", &www.0).unwrap();
        assert_eq!(body.size(), CHUNK + 5);
        let mut found = Vec::new();
        loop {
            let (next, is_last) = body.rest().unwrap();
            let part = &next[..next.len().min(40_000)];
            found.extend_from_slice(part);
            let (taken, is_rest) = (part.len(), part.len() == next.len());
            assert_eq!(is_last && is_rest, body.take(taken));
            if is_last && is_rest {
                break;
            }
        }
        assert_eq!(found, bytes);
        let mut empty = PartialBody::open(b"/empty", &www.0).unwrap();
        assert_eq!(empty.rest().unwrap(), (&[][..], true));
        assert!(empty.take(0));
    }
}
