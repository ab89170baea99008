//! Bytes to JSON values, without holding more than one of them.

use std::io::{ErrorKind, Read};

use super::error::QlogError;

/// Longest event, and longest member of a header.
pub const MAXIMUM_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// Begins each record of a JSON text sequence: <https://www.rfc-editor.org/rfc/rfc7464#section-2.1>.
pub(super) const RECORD_SEPARATOR: u8 = 0x1e;

const CHUNK_BYTES: usize = 64 * 1024;

/// Why reading a value ended early.
pub(super) enum Stop {
    /// The input ends inside of it.
    Cut,
    /// A record separator stands inside of it: the record before was cut off.
    Interrupted,
    /// Anything else.
    Error(QlogError),
}

impl From<QlogError> for Stop {
    fn from(error: QlogError) -> Self {
        Stop::Error(error)
    }
}

/// The input, in pieces.
pub(super) struct Text<R: Read> {
    input: R,
    chunk: Vec<u8>,
    /// Bytes of the chunk that hold input, and that have been passed over.
    length: usize,
    position: usize,
    /// Offset of the chunk's first byte.
    chunk_offset: u64,
}

impl<R: Read> Text<R> {
    pub fn new(input: R) -> Self {
        Text { input, chunk: vec![0; CHUNK_BYTES], length: 0, position: 0, chunk_offset: 0 }
    }

    /// Offset of the next byte.
    pub fn offset(&self) -> u64 {
        self.chunk_offset + self.position as u64
    }

    /// The next byte; `None` at the end.
    pub fn peek(&mut self) -> Result<Option<u8>, QlogError> {
        if self.position == self.length {
            self.fill()?;
        }
        Ok(self.chunk[self.position..self.length].first().copied())
    }

    /// Passes over a byte that was peeked at.
    pub fn advance(&mut self) {
        self.position += 1;
    }

    /// The next byte that is no white space, inside of a value.
    pub fn token(&mut self) -> Result<u8, Stop> {
        loop {
            match self.peek()? {
                None => return Err(Stop::Cut),
                Some(RECORD_SEPARATOR) => return Err(Stop::Interrupted),
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.advance(),
                Some(byte) => return Ok(byte),
            }
        }
    }

    /// Passes over one of two punctuation marks and says which.
    pub fn punctuation(&mut self, what: &'static str, allowed: [u8; 2], expected: &'static str) -> Result<u8, Stop> {
        let found = self.token()?;
        if !allowed.contains(&found) {
            let found = char::from(found).escape_default().to_string();
            return Err(QlogError::Malformed { byte_offset: self.offset(), what, found, expected }.into());
        }
        self.advance();
        Ok(found)
    }

    /// One whole value into `kept`, which is emptied first.
    pub fn value(&mut self, kept: &mut Vec<u8>) -> Result<(), Stop> {
        kept.clear();
        self.scan(Some(kept))
    }

    /// Passes over one value of any length.
    pub fn skip(&mut self) -> Result<(), Stop> {
        self.scan(None)
    }

    fn scan(&mut self, mut kept: Option<&mut Vec<u8>>) -> Result<(), Stop> {
        let first = self.token()?;
        let begin = self.offset();
        if matches!(first, b',' | b':' | b']' | b'}') {
            let found = char::from(first).to_string();
            return Err(
                QlogError::Malformed { byte_offset: begin, what: "value", found, expected: "a JSON value" }.into()
            );
        }
        let mut scanner = Scanner::default();
        loop {
            if self.peek()?.is_none() {
                // A number or word that ends with the input may be incomplete.
                return Err(Stop::Cut);
            }
            let rest = &self.chunk[self.position..self.length];
            let end = scanner.end_in(rest);
            let length = end.map_or(rest.len(), |end| end.0);
            if let Some(kept) = kept.as_deref_mut() {
                if kept.len() + length > MAXIMUM_EVENT_BYTES {
                    return Err(QlogError::EventTooLong { byte_offset: begin, limit: MAXIMUM_EVENT_BYTES }.into());
                }
                kept.extend_from_slice(&rest[..length]);
            }
            self.position += length;
            match end {
                None => {}
                Some((_, Ending::Complete)) => return Ok(()),
                Some((_, Ending::Separator)) => return Err(Stop::Interrupted),
            }
        }
    }

    fn fill(&mut self) -> Result<(), QlogError> {
        self.chunk_offset += self.length as u64;
        (self.position, self.length) = (0, 0);
        loop {
            match self.input.read(&mut self.chunk) {
                Ok(length) => {
                    self.length = length.min(CHUNK_BYTES);
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => return Err(QlogError::Read { byte_offset: self.chunk_offset, source }),
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Ending {
    Complete,
    Separator,
}

/// Finds the end of a value from its brackets and quotation marks alone; whether it is JSON is found out by its reader.
#[derive(Default)]
struct Scanner {
    depth: u64,
    in_string: bool,
    escaped: bool,
    in_word: bool,
}

impl Scanner {
    /// Length of the value in these bytes, and how it ends.
    fn end_in(&mut self, bytes: &[u8]) -> Option<(usize, Ending)> {
        for (position, &byte) in bytes.iter().enumerate() {
            if byte == RECORD_SEPARATOR {
                return Some((position, Ending::Separator));
            }
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return Some((position + 1, Ending::Complete));
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' if !self.in_word => self.in_string = true,
                b'{' | b'[' if !self.in_word => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some((position + 1, Ending::Complete));
                    }
                }
                b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n' if self.in_word => {
                    return Some((position, Ending::Complete));
                }
                _ if self.depth == 0 => self.in_word = true,
                _ => {}
            }
        }
        None
    }
}
