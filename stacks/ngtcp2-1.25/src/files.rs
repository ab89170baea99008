//! The files that the server answers with.

use std::{collections::BTreeMap, io, os::fd::AsRawFd, path::Path, ptr, slice};

use nix::libc;

/// A file in memory, as ngtcp2's own server has it: its bytes must stay where they are until they are acknowledged.
pub struct Body {
    /// Null for an empty file.
    start: *mut libc::c_void,
    length: usize,
}

impl Body {
    /// Maps the file that `path` names below `www`.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`] also for what would lead out of `www`.
    pub fn open(path: &[u8], www: &Path) -> io::Result<Self> {
        let (file, length) = quiclab_contract::open(path, www)?;
        let length = usize::try_from(length).map_err(io::Error::other)?;
        if length == 0 {
            return Ok(Self { start: ptr::null_mut(), length });
        }
        // SAFETY: a new private mapping, which outlives the descriptor.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_READ, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start, length })
    }

    /// All of the file.
    pub fn bytes(&self) -> &[u8] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: the mapping is `length` bytes long and lives as long as `self`. Nobody shortens a file that is served.
        unsafe { slice::from_raw_parts(self.start.cast(), self.length) }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if !self.start.is_null() {
            // SAFETY: mapped by `open` with this length, and unmapped only here.
            unsafe { libc::munmap(self.start, self.length) };
        }
    }
}

/// Files that are being sent, by stream, and how much of each is.
#[derive(Default)]
pub struct Answers(BTreeMap<u64, (Body, usize)>);

impl Answers {
    /// Nothing of `body` is sent on this stream yet.
    pub fn insert(&mut self, stream: u64, body: Body) {
        self.0.insert(stream, (body, 0));
    }

    /// Nobody wants what is left.
    pub fn remove(&mut self, stream: u64) {
        self.0.remove(&stream);
    }

    /// The bytes to send next, with the end of the stream behind them.
    pub fn rest(&self, stream: u64) -> Option<(&[u8], bool)> {
        self.0.get(&stream).map(|(body, sent)| (&body.bytes()[*sent..], true))
    }

    /// `bytes` of it are sent.
    pub fn take(&mut self, stream: u64, bytes: usize) {
        if let Some((body, sent)) = self.0.get_mut(&stream) {
            *sent += bytes;
            // picoquic has a copy of what it may have to send again.
            if *sent == body.bytes().len() {
                self.0.remove(&stream);
            }
        }
    }
}
