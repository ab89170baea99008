//! The files that the server answers with.

use std::{fs::File, io, os::fd::AsRawFd, path::Path, ptr, slice};

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
        let length = usize::try_from(facts.len()).map_err(io::Error::other)?;
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
