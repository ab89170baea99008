//! A window over a reader that knows its offset.

use std::io::{ErrorKind, Read};

use crate::error::CaptureError;

/// Bytes asked of the reader at a time, at most.
const READ_BYTES: usize = 256 * 1024;
/// Bytes asked for at first; each time twice as many. A capture of one handshake is read in less time than it takes to clear a large buffer.
const FIRST_READ_BYTES: usize = 16 * 1024;

/// Buffered input. Never holds more than one block and one read.
pub(crate) struct Source<R> {
    input: R,
    buffer: Vec<u8>,
    /// First unconsumed byte of `buffer`.
    start: usize,
    /// End of the bytes read into `buffer`.
    end: usize,
    /// Offset of `buffer[start]` in the file.
    offset: u64,
    ended: bool,
    /// The input said that it should have gone on.
    cut: bool,
}

impl<R: Read> Source<R> {
    pub(crate) fn new(input: R) -> Self {
        Source { input, buffer: Vec::new(), start: 0, end: 0, offset: 0, ended: false, cut: false }
    }

    /// Offset of the first unconsumed byte.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes read and not consumed; all that is left once `peek` gave less than was asked.
    pub(crate) fn buffered(&self) -> usize {
        self.end - self.start
    }

    /// Whether the input ended before its own format allows (a gzip stream without its end).
    pub(crate) fn was_cut(&self) -> bool {
        self.cut
    }

    /// The next `count` bytes, or all that is left when the input ends before.
    pub(crate) fn peek(&mut self, count: usize) -> Result<&[u8], CaptureError> {
        if self.end - self.start < count {
            self.fill(count)?;
        }
        let available = count.min(self.end - self.start);
        Ok(&self.buffer[self.start..self.start + available])
    }

    /// All bytes read and not consumed, without reading more.
    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Drops `count` bytes, which a `peek` has shown before.
    pub(crate) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    fn fill(&mut self, count: usize) -> Result<(), CaptureError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < count && !self.ended {
            // Grow with what arrives, not with what a length field claims.
            let wanted = (2 * self.buffer.len()).clamp(FIRST_READ_BYTES, READ_BYTES);
            if self.buffer.len() < self.end + wanted {
                self.buffer.resize(self.end + wanted, 0);
            }
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(bytes) => self.end += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // What a decompressor says when its input stops early: the same as a plain file that stops early.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    self.ended = true;
                    self.cut = true;
                }
                Err(source) => {
                    return Err(CaptureError::Read { byte_offset: self.offset + self.end as u64, source });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_grows_to_what_is_asked_and_keeps_its_offset() {
        let bytes: Vec<u8> = (0..=255).cycle().take(3 * READ_BYTES).collect();
        let mut source = Source::new(bytes.as_slice());
        assert_eq!(source.peek(4).unwrap(), &bytes[..4]);
        source.consume(3);
        assert_eq!(source.offset(), 3);
        assert_eq!(source.peek(2 * READ_BYTES).unwrap(), &bytes[3..3 + 2 * READ_BYTES]);
        source.consume(2 * READ_BYTES);
        assert_eq!(source.peek(usize::MAX / 2).unwrap(), &bytes[3 + 2 * READ_BYTES..]);
    }
}
