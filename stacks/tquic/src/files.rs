//! The files that the server answers with.

use std::{io, path::Path};

use bytes::{Buf, Bytes};

/// A file on its way, read piece by piece.
pub struct Body {
    file: quiclab_contract::Body,
    /// Bytes that were read and that tquic has not taken yet.
    chunk: Bytes,
}

impl Body {
    /// Opens the file that `path` names below `www`.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] also for what would lead out of `www`.
    pub fn open(path: &[u8], www: &Path) -> io::Result<Self> {
        Ok(Self { file: quiclab_contract::Body::open(path, www)?, chunk: Bytes::new() })
    }

    /// Bytes of the whole file.
    pub fn size(&self) -> u64 {
        self.file.size()
    }

    /// The bytes to send next, and true where nothing comes after them. Empty only where the file is sent or empty.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn rest(&mut self) -> io::Result<(Bytes, bool)> {
        if self.chunk.is_empty()
            && let Some(chunk) = self.file.next_chunk()?
        {
            self.chunk = chunk.into();
        }
        Ok((self.chunk.clone(), self.file.left() == 0))
    }

    /// Counts `bytes` of what [`Self::rest`] gave as sent. True: that was the end of the file.
    pub fn take(&mut self, bytes: usize) -> bool {
        self.chunk.advance(bytes);
        self.chunk.is_empty() && self.file.left() == 0
    }
}
