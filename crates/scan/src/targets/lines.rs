//! Lines of files that people write, bounded.

use std::io::{self, BufRead};

use crate::targets::{line, line::quoted, list::BadLine};

/// Longest line, in bytes. The longest name, an IDN as people write it, has about a quarter.
const LONGEST_LINE: usize = 4096;

/// Lines without their comments and ends, and without a byte order mark.
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), number: 0 }
    }

    /// How many lines were read: the number of the last one.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What the next line says, which may be nothing. `None`: there is none.
    pub fn read(&mut self) -> io::Result<Option<Result<&str, BadLine>>> {
        let Some(length) = self.fill()? else { return Ok(None) };
        self.number += 1;
        Ok(Some(self.content(length)))
    }

    /// Reads a line into the buffer, which gets no more than the longest one has. Gives the length that the line has.
    fn fill(&mut self) -> io::Result<Option<u64>> {
        self.buffer.clear();
        let mut length = 0_u64;
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                return Ok((length > 0).then_some(length));
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            let room = LONGEST_LINE.saturating_sub(self.buffer.len()).min(part.len());
            self.buffer.extend_from_slice(&part[..room]);
            length += part.len() as u64;
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                return Ok(Some(length));
            }
        }
    }

    fn content(&self, length: u64) -> Result<&str, BadLine> {
        let bad = |found: String, expected| BadLine { line: self.number, found, expected };
        let is_first = self.number == 1;
        if is_first && (self.buffer.starts_with(&[0xff, 0xfe]) || self.buffer.starts_with(&[0xfe, 0xff])) {
            return Err(bad("UTF-16".into(), "UTF-8"));
        }
        if length > LONGEST_LINE as u64 {
            return Err(bad(format!("a line of {length} bytes"), "at most 4096"));
        }
        let text = std::str::from_utf8(&self.buffer)
            .map_err(|_| bad(quoted(&String::from_utf8_lossy(&self.buffer)), "UTF-8"))?;
        let text = if is_first { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        Ok(line::without_comment(text))
    }
}
