//! QPACK without a dynamic table, RFC 9204: the client says that its capacity is 0, so that a server must not use one.

use thiserror::Error;

use super::huffman;
use super::static_table::STATIC_TABLE;

/// Why a field section is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum QpackError {
    /// It ends in the middle of a field line.
    #[error("a field section that ends early (RFC 9204 section 4.5)")]
    Truncated,
    /// It refers to the dynamic table, whose capacity is 0.
    #[error("a reference to the dynamic table, which has no capacity (RFC 9204 section 3.2.3)")]
    Dynamic,
    /// It refers to an entry that the static table does not have.
    #[error("found index {0} of the static table, expected at most 98 (RFC 9204 section 3.1)")]
    Index(u64),
    /// A number has more than 62 bits.
    #[error("an integer that is too large (RFC 9204 section 4.1.1)")]
    Integer,
    /// A string is not of the Huffman code.
    #[error("a string that is not Huffman-encoded as it says (RFC 7541 section 5.2)")]
    Huffman,
}

/// Appends the field lines of a request, each as a reference to the static table as far as that goes.
pub fn encode<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>, section: &mut Vec<u8>) {
    // Required Insert Count and Delta Base, RFC 9204, section 4.5.1.
    section.extend_from_slice(&[0, 0]);
    for (name, value) in fields {
        if let Some(index) = STATIC_TABLE.iter().position(|&entry| entry == (name, value)) {
            push_integer(0b1100_0000, 6, index as u64, section);
            continue;
        }
        match STATIC_TABLE.iter().position(|&(known, _)| known == name) {
            Some(index) => push_integer(0b0101_0000, 4, index as u64, section),
            None => {
                push_integer(0b0010_0000, 3, name.len() as u64, section);
                section.extend_from_slice(name.as_bytes());
            }
        }
        push_integer(0, 7, value.len() as u64, section);
        section.extend_from_slice(value.as_bytes());
    }
}

/// Visits the names and values of a field section in their order.
///
/// # Errors
/// What is wrong with the first field line that cannot be read.
pub fn decode(section: &[u8], mut visit: impl FnMut(&[u8], &[u8])) -> Result<(), QpackError> {
    let mut reader = Reader { rest: section };
    if reader.integer(8)? != 0 {
        return Err(QpackError::Dynamic);
    }
    reader.integer(7)?;
    while let Some(&first) = reader.rest.first() {
        match first {
            // Indexed field line, RFC 9204, section 4.5.2.
            0b1100_0000.. => {
                let (name, value) = reader.entry(6)?;
                visit(name.as_bytes(), value.as_bytes());
            }
            // Literal field line with a reference for the name, RFC 9204, section 4.5.4.
            0b0101_0000..=0b0101_1111 | 0b0111_0000..=0b0111_1111 => {
                let (name, _) = reader.entry(4)?;
                visit(name.as_bytes(), &reader.string(7)?);
            }
            // Literal field line with a literal name, RFC 9204, section 4.5.6.
            0b0010_0000..=0b0011_1111 => {
                let name = reader.string(3)?;
                visit(&name, &reader.string(7)?);
            }
            _ => return Err(QpackError::Dynamic),
        }
    }
    Ok(())
}

/// RFC 7541 section 5.1.
fn push_integer(flags: u8, prefix_bits: u32, value: u64, bytes: &mut Vec<u8>) {
    let largest = (1u64 << prefix_bits) - 1;
    if value < largest {
        bytes.push(flags | value as u8);
        return;
    }
    bytes.push(flags | largest as u8);
    let mut rest = value - largest;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Result<u8, QpackError> {
        let (&byte, rest) = self.rest.split_first().ok_or(QpackError::Truncated)?;
        self.rest = rest;
        Ok(byte)
    }

    /// RFC 7541 section 5.1, up to 62 bits as RFC 9204 section 4.1.1 has it.
    fn integer(&mut self, prefix_bits: u32) -> Result<u64, QpackError> {
        let largest = (1u64 << prefix_bits) - 1;
        let mut value = u64::from(self.byte()?) & largest;
        if value < largest {
            return Ok(value);
        }
        for shift in (0..62).step_by(7) {
            let byte = self.byte()?;
            value = value.checked_add(u64::from(byte & 0x7f) << shift).ok_or(QpackError::Integer)?;
            if byte & 0x80 == 0 {
                return if value >> 62 == 0 { Ok(value) } else { Err(QpackError::Integer) };
            }
        }
        Err(QpackError::Integer)
    }

    /// Reads the index of an entry of the static table, and returns the entry.
    fn entry(&mut self, prefix_bits: u32) -> Result<(&'static str, &'static str), QpackError> {
        let index = self.integer(prefix_bits)?;
        let entry = usize::try_from(index).ok().and_then(|index| STATIC_TABLE.get(index));
        entry.copied().ok_or(QpackError::Index(index))
    }

    /// A string whose length has this many bits in the first byte, behind a bit that says whether it is Huffman-encoded.
    fn string(&mut self, prefix_bits: u32) -> Result<Vec<u8>, QpackError> {
        let is_huffman = self.rest.first().is_some_and(|first| first >> prefix_bits & 1 == 1);
        let length = self.integer(prefix_bits)?;
        let length = usize::try_from(length).map_err(|_| QpackError::Truncated)?;
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(QpackError::Truncated)?;
        self.rest = rest;
        if is_huffman { huffman::decode(bytes).ok_or(QpackError::Huffman) } else { Ok(bytes.to_vec()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(section: &[u8]) -> Result<Vec<(String, String)>, QpackError> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut fields = Vec::new();
        decode(section, |name, value| fields.push((text(name), text(value))))?;
        Ok(fields)
    }

    fn of(name: &str, value: &str) -> (String, String) {
        (name.into(), value.into())
    }

    /// RFC 9204 appendix B.1.
    #[test]
    fn a_literal_with_a_reference_for_its_name_is_read() {
        let section = b"\x00\x00\x51\x0b\x2f\x69\x6e\x64\x65\x78\x2e\x68\x74\x6d\x6c";
        assert_eq!(read(section), Ok(vec![of(":path", "/index.html")]));
        let mut encoded = Vec::new();
        encode([(":path", "/index.html")].into_iter(), &mut encoded);
        assert_eq!(encoded, section);
    }

    /// RFC 9204 appendix B.2 and B.4: its field sections need the dynamic table.
    #[test]
    fn references_to_the_dynamic_table_are_refused() {
        for section in [&b"\x03\x81\x10\x11"[..], b"\x05\x00\x80\xc1\x81", b"\x00\x00\x80", b"\x00\x00\x10"] {
            assert_eq!(read(section), Err(QpackError::Dynamic), "{section:x?}");
        }
    }

    /// RFC 9204 appendix B.4: its second field line is index 1 of the static table.
    #[test]
    fn an_indexed_line_is_read() {
        assert_eq!(read(b"\x00\x00\xc1"), Ok(vec![of(":path", "/")]));
        assert_eq!(read(b"\x00\x00\xff\x23"), Ok(vec![of("x-frame-options", "sameorigin")]));
        assert_eq!(read(b"\x00\x00\xff\x24"), Err(QpackError::Index(99)));
    }

    #[test]
    fn a_literal_name_may_be_huffman_encoded() {
        // "cf-ray" with a value of the code for "302".
        assert_eq!(read(b"\x00\x00\x26cf-ray\x82\x64\x02"), Ok(vec![of("cf-ray", "302")]));
        assert_eq!(read(b"\x00\x00\x2a\x64\x02\x01x"), Ok(vec![of("302", "x")]));
    }

    #[test]
    fn what_ends_early_is_refused() {
        for section in [&b""[..], b"\x00", b"\x00\x00\x51", b"\x00\x00\x51\x0b\x2f", b"\x00\x00\xff", b"\x00\x00\x27"] {
            assert_eq!(read(section), Err(QpackError::Truncated), "{section:x?}");
        }
        assert_eq!(read(b"\x00\x00\x51\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), Err(QpackError::Integer));
    }

    proptest! {
        #[test]
        fn fields_come_back(fields in prop::collection::vec(("[a-z-]{1,200}", "[ -~]{0,300}"), 0..20)) {
            let mut section = Vec::new();
            encode(fields.iter().map(|(name, value)| (name.as_str(), value.as_str())), &mut section);
            prop_assert_eq!(read(&section), Ok(fields));
        }

        #[test]
        fn any_bytes_are_read_or_refused(section in prop::collection::vec(any::<u8>(), 0..200)) {
            _ = read(&section);
        }
    }
}
