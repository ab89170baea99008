//! Foreign input that may never end: a device, a pipe, a file that a stranger made.

use std::io::{self, Read};

/// Reads to the end of an input of so many bytes at most.
///
/// # Errors
/// Where the input has more, or fails.
pub fn read_bounded(input: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Bounded::new(input, most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same, of a text.
///
/// # Errors
/// As [`read_bounded`]; [`io::ErrorKind::InvalidData`] where it is not UTF-8.
pub fn read_text_bounded(input: impl Read, most: u64) -> io::Result<String> {
    String::from_utf8(read_bounded(input, most)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// An input that fails when it turns out to be longer than it may be.
#[derive(Debug)]
pub struct Bounded<R> {
    input: R,
    most: u64,
    left: u64,
}

impl<R> Bounded<R> {
    /// Makes an input of so many bytes at most.
    pub fn new(input: R, most: u64) -> Self {
        Bounded { input, most, left: most }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // One byte more than may be there shows that it is too long.
        let most = usize::try_from(self.left.saturating_add(1)).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.input.read(&mut buffer[..most])?;
        match self.left.checked_sub(count as u64) {
            Some(left) => {
                self.left = left;
                Ok(count)
            }
            None => Err(io::Error::other(format!(
                "found more than {} bytes, expected at most as many\nhint: split the file, or name another one",
                self.most
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_bytes_as_allowed_are_read_and_one_more_is_an_error() {
        assert_eq!(read_bounded(&[7; 100][..], 100).unwrap(), [7; 100]);
        let error = read_bounded(&[7; 101][..], 100).unwrap_err().to_string();
        assert!(error.starts_with("found more than 100 bytes"), "{error}");
    }

    #[test]
    fn an_input_without_end_is_an_error() {
        assert!(read_bounded(io::repeat(0), 1 << 20).is_err());
        assert!(read_bounded(io::repeat(0), 0).is_err());
        assert!(read_bounded(io::empty(), 0).unwrap().is_empty());
    }

    #[test]
    fn a_text_that_is_none_says_so() {
        assert_eq!(read_text_bounded(&b"abc"[..], 3).unwrap(), "abc");
        assert_eq!(read_text_bounded(&b"\xff"[..], 3).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
