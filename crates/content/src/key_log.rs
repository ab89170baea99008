//! Key logs that grow while they are read.

use std::io::Read;

/// Bytes that are read at once: lines of some 60 connections. The rest follows with the next call.
const MOST_AT_ONCE: usize = 1 << 16;

/// Whole lines of a key log that an endpoint writes meanwhile.
#[derive(Clone, Debug, Default)]
pub struct KeyLogLines {
    /// The beginning of a line whose end is not there yet.
    partial: Vec<u8>,
}

impl KeyLogLines {
    /// The whole lines that `input` has further; it goes on where it ended at the last call. What cannot be read says nothing.
    pub fn read(&mut self, input: &mut impl Read) -> Option<Vec<u8>> {
        let mut bytes = std::mem::take(&mut self.partial);
        let room = MOST_AT_ONCE.saturating_sub(bytes.len());
        // What was read before an error counts.
        let _ = input.take(room as u64).read_to_end(&mut bytes);
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.partial = bytes.split_off(end);
        // A line without an end is not kept for ever.
        if self.partial.len() >= MOST_AT_ONCE {
            self.partial.clear();
        }
        (!bytes.is_empty()).then_some(bytes)
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
