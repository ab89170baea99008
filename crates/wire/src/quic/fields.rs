//! A cursor over the fields of headers and frames.

/// Reads from the front; `None` where the bytes end too early.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) position: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Fields { bytes, position: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.position >= self.bytes.len()
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.position.checked_add(count)?;
        let field = self.bytes.get(self.position..end)?;
        self.position = end;
        Some(field)
    }

    /// Takes as many bytes as an integer before them says.
    pub(crate) fn take_u64(&mut self, count: u64) -> Option<&'a [u8]> {
        self.take(usize::try_from(count).ok()?)
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        self.position = self.bytes.len();
        rest
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// Big-endian.
    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// Big-endian.
    pub(crate) fn u24(&mut self) -> Option<u32> {
        self.take(3).map(|bytes| u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]))
    }

    /// Big-endian.
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|bytes| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    pub(crate) fn take_with_length_byte(&mut self) -> Option<&'a [u8]> {
        let length = self.u8()?;
        self.take(usize::from(length))
    }

    /// RFC 9000 section 16: the two high bits of the first byte give the length, 1, 2, 4 or 8 bytes.
    pub(crate) fn take_variable_length_integer(&mut self) -> Option<u64> {
        let first = self.u8()?;
        let more = self.take((1 << (first >> 6)) - 1)?;
        Some(more.iter().fold(u64::from(first & 0x3f), |value, byte| (value << 8) | u64::from(*byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::Fields;

    #[test]
    fn the_examples_of_rfc_9000_appendix_a_1_decode() {
        let examples: [(&[u8], u64); 5] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
            (&[0x40, 0x25], 37),
        ];
        for (bytes, value) in examples {
            assert_eq!(Fields::new(bytes).take_variable_length_integer(), Some(value));
            assert_eq!(Fields::new(&bytes[..bytes.len() - 1]).take_variable_length_integer(), None);
        }
    }
}
