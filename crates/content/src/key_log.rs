//! Key logs that grow while they are read.

use std::io::{ErrorKind, Read};

/// Bytes that are read at once: lines of some 60 connections. The rest follows with the next call.
const MOST_AT_ONCE: usize = 1 << 16;
/// Bytes of one read: the lines of a handshake.
const CHUNK: usize = 1 << 10;

/// Whole lines of a key log that an endpoint writes meanwhile.
#[derive(Clone, Debug, Default)]
pub struct KeyLogLines {
    /// The beginning of a line whose end is not there yet.
    partial: Vec<u8>,
}

impl KeyLogLines {
    /// The whole lines that `input` has further; it goes on where it ended at the last call. What cannot be read says nothing.
    ///
    /// It is called for each datagram, mostly with nothing to read: one call of `read` then.
    pub fn read(&mut self, input: &mut impl Read) -> Option<Vec<u8>> {
        let mut chunk = [0; CHUNK];
        let before = self.partial.len();
        while self.partial.len() + CHUNK <= MOST_AT_ONCE {
            match input.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => self.partial.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // What was read before it counts.
                Err(_) => break,
            }
        }
        // Nothing before has an end.
        let end = self.partial[before..].iter().rposition(|byte| *byte == b'\n').map(|end| before + end + 1);
        let lines = end.map(|end| {
            let partial = self.partial.split_off(end);
            std::mem::replace(&mut self.partial, partial)
        });
        // A line without an end is not kept for ever.
        if self.partial.len() + CHUNK > MOST_AT_ONCE {
            self.partial.clear();
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_comes_once_and_when_it_is_whole() {
        let mut lines = KeyLogLines::default();
        assert_eq!(lines.read(&mut &b""[..]), None);
        assert_eq!(lines.read(&mut &b"one\ntw"[..]).unwrap(), b"one\n");
        assert_eq!(lines.read(&mut &b""[..]), None);
        assert_eq!(lines.read(&mut &b"o\nthree\n"[..]).unwrap(), b"two\nthree\n");
        let endless = vec![b'x'; 3 * MOST_AT_ONCE];
        let mut input = &endless[..];
        for _ in 0..4 {
            assert_eq!(lines.read(&mut input), None);
            assert!(lines.partial.len() < MOST_AT_ONCE);
        }
    }
}
