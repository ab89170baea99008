//! Field sections without a dynamic table: RFC 9204.

use super::HttpError;

/// What is read of a field section: the fields that this endpoint knows.
pub(super) type Fields = Vec<(&'static str, Vec<u8>)>;

/// Required Insert Count and Base of a section without references to the dynamic table: section 4.5.1.
const PREFIX: [u8; 2] = [0, 0];

/// Indices in the static table (appendix A).
const AUTHORITY: u64 = 0;
const PATH: u64 = 1;
const CONTENT_LENGTH: u64 = 4;
const METHOD_GET: u64 = 17;
const SCHEME_HTTPS: u64 = 23;
const STATUS: u64 = 24;
const STATUS_200: u64 = 25;

/// Entries of the static table.
const STATIC_ENTRIES: u64 = 99;

/// The request of a file.
pub(super) fn request(authority: &str, path: &str) -> Vec<u8> {
    let mut block = PREFIX.to_vec();
    write_indexed(&mut block, METHOD_GET);
    write_indexed(&mut block, SCHEME_HTTPS);
    write_literal(&mut block, AUTHORITY, authority.as_bytes());
    write_literal(&mut block, PATH, path.as_bytes());
    block
}

/// The headers of a response with a body of so many bytes.
pub(super) fn response(status: u16, length: u64) -> Vec<u8> {
    let mut block = PREFIX.to_vec();
    match status {
        200 => write_indexed(&mut block, STATUS_200),
        _ => write_literal(&mut block, STATUS, status.to_string().as_bytes()),
    }
    write_literal(&mut block, CONTENT_LENGTH, length.to_string().as_bytes());
    block
}

/// Indexed field line of the static table: section 4.5.2.
fn write_indexed(block: &mut Vec<u8>, index: u64) {
    write_integer(block, 0b1100_0000, 6, index);
}

/// Literal field line with a name of the static table: section 4.5.4.
fn write_literal(block: &mut Vec<u8>, name: u64, value: &[u8]) {
    write_integer(block, 0b0101_0000, 4, name);
    write_integer(block, 0, 7, value.len() as u64);
    block.extend_from_slice(value);
}

/// RFC 7541, section 5.1, which section 4.1.1 refers to.
fn write_integer(block: &mut Vec<u8>, first: u8, bits: u32, value: u64) {
    let most = (1 << bits) - 1;
    if value < most {
        block.push(first | value as u8);
        return;
    }
    block.push(first | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        block.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    block.push(rest as u8);
}

/// Reads the fields of a section that are known here.
///
/// # Errors
/// Where it cannot be read: a reference to a dynamic table, which does not exist; a known field with Huffman coding.
pub(super) fn read(block: &[u8]) -> Result<Fields, HttpError> {
    let mut reader = Reader { block, offset: 0 };
    if reader.integer(8)? != 0 {
        return Err(reader.error("refers to a dynamic table"));
    }
    reader.integer(7)?;
    let mut fields = Vec::new();
    while reader.offset < block.len() {
        if let Some(field) = reader.field()? {
            fields.push(field);
        }
    }
    Ok(fields)
}

struct Reader<'a> {
    block: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// A field line: section 4.5. `None`: a field that is not known here.
    fn field(&mut self) -> Result<Option<(&'static str, Vec<u8>)>, HttpError> {
        let first = self.peek()?;
        let name = match first {
            0b1100_0000.. => {
                let (name, value) = self.static_entry(6)?;
                return Ok(name.map(|name| (name, value.as_bytes().to_vec())));
            }
            0b0101_0000..=0b0101_1111 | 0b0111_0000..=0b0111_1111 => self.static_entry(4)?.0,
            0b0010_0000..=0b0011_1111 => self.literal_name()?,
            _ => return Err(self.error("refers to a dynamic table")),
        };
        let (is_huffman, value) = self.string(7)?;
        match name {
            None => Ok(None),
            Some(_) if is_huffman => Err(self.error("Huffman coding, which is not supported")),
            Some(name) => Ok(Some((name, value.to_vec()))),
        }
    }

    fn static_entry(&mut self, bits: u32) -> Result<(Option<&'static str>, &'static str), HttpError> {
        let index = self.integer(bits)?;
        if index >= STATIC_ENTRIES {
            return Err(self.error("no such entry in the static table"));
        }
        Ok(static_entry(index))
    }

    /// A name that is written out: section 4.5.6. Those that matter can be written out as well, but with Huffman coding
    /// nobody knows.
    fn literal_name(&mut self) -> Result<Option<&'static str>, HttpError> {
        let (is_huffman, name) = self.string(3)?;
        if is_huffman {
            return Err(self.error("Huffman coding, which is not supported"));
        }
        Ok(KNOWN.into_iter().find(|known| known.as_bytes() == name))
    }

    /// A string, and whether Huffman coding was used: section 4.1.2. The bit for that is before the `bits` of the length.
    fn string(&mut self, bits: u32) -> Result<(bool, &'a [u8]), HttpError> {
        let is_huffman = self.peek()? & (1 << bits) != 0;
        let length = self.integer(bits)?;
        let rest = &self.block[self.offset..];
        let string = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let string = string.ok_or_else(|| self.error("a string is longer than the section"))?;
        self.offset += string.len();
        Ok((is_huffman, string))
    }

    fn integer(&mut self, bits: u32) -> Result<u64, HttpError> {
        let most = (1u64 << bits) - 1;
        let mut value = u64::from(self.next()?) & most;
        if value < most {
            return Ok(value);
        }
        // Section 4.1.1: integers of up to 62 bits.
        for shift in (0..63).step_by(7) {
            let byte = self.next()?;
            let part = u64::from(byte & 0x7f).checked_shl(shift).filter(|part| part >> shift == u64::from(byte & 0x7f));
            value = part
                .and_then(|part| value.checked_add(part))
                .ok_or_else(|| self.error("an integer of more than 64 bits"))?;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.error("an integer of more than 64 bits"))
    }

    fn peek(&self) -> Result<u8, HttpError> {
        self.block.get(self.offset).copied().ok_or_else(|| self.error("the section ends within a field"))
    }

    fn next(&mut self) -> Result<u8, HttpError> {
        let byte = self.peek()?;
        self.offset += 1;
        Ok(byte)
    }

    fn error(&self, problem: &'static str) -> HttpError {
        HttpError::Fields { offset: self.offset, problem }
    }
}

const KNOWN: [&str; 4] = [":method", ":path", ":status", "content-length"];

/// Name and value in the static table. `None`: a name that is not known here.
fn static_entry(index: u64) -> (Option<&'static str>, &'static str) {
    let (name, value) = match index {
        PATH => (":path", "/"),
        CONTENT_LENGTH => ("content-length", "0"),
        15 => (":method", "CONNECT"),
        16 => (":method", "DELETE"),
        METHOD_GET => (":method", "GET"),
        18 => (":method", "HEAD"),
        19 => (":method", "OPTIONS"),
        20 => (":method", "POST"),
        21 => (":method", "PUT"),
        STATUS => (":status", "103"),
        STATUS_200 => (":status", "200"),
        26 => (":status", "304"),
        27 => (":status", "404"),
        28 => (":status", "503"),
        63 => (":status", "100"),
        64 => (":status", "204"),
        65 => (":status", "206"),
        66 => (":status", "302"),
        67 => (":status", "400"),
        68 => (":status", "403"),
        69 => (":status", "421"),
        70 => (":status", "425"),
        71 => (":status", "500"),
        _ => return (None, ""),
    };
    (Some(name), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(expected: &[(&'static str, &str)]) -> Fields {
        expected.iter().map(|&(name, value)| (name, value.as_bytes().to_vec())).collect()
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let block = request("server:443", "/a");
        assert_eq!(block, b"\x00\x00\xd1\xd7\x50\x0aserver:443\x51\x02/a");
        assert_eq!(read(&block).unwrap(), fields(&[(":method", "GET"), (":path", "/a")]));
        let block = response(200, 1_048_576);
        assert_eq!(block, b"\x00\x00\xd9\x54\x071048576");
        assert_eq!(read(&block).unwrap(), fields(&[(":status", "200"), ("content-length", "1048576")]));
        assert_eq!(read(&response(405, 0)).unwrap(), fields(&[(":status", "405"), ("content-length", "0")]));
        let long = "/".repeat(1000);
        assert_eq!(read(&request("", &long)).unwrap()[1].1, long.as_bytes());
    }

    #[test]
    fn fields_that_are_not_known_are_skipped() {
        // server: quinn, with a name of the static table and Huffman coding; x: y; content-length: 7, written out.
        let block = b"\x00\x00\x5f\x4d\x81\x00\x21x\x01y\xd9\x27\x07content-length\x017";
        assert_eq!(read(block).unwrap(), fields(&[(":status", "200"), ("content-length", "7")]));
    }

    #[test]
    fn the_examples_of_rfc_7541_are_read() {
        for (bytes, bits, value) in [(&b"\x0a"[..], 5, 10), (b"\x1f\x9a\x0a", 5, 1337), (b"\x2a", 8, 42)] {
            assert_eq!(Reader { block: bytes, offset: 0 }.integer(bits).unwrap(), value);
            let mut written = Vec::new();
            write_integer(&mut written, 0, bits, value);
            assert_eq!(written, bytes);
        }
    }

    #[test]
    fn foreign_bytes_are_errors_and_no_panics() {
        let foreign: [&[u8]; 9] = [
            b"",
            b"\x01\x00",
            b"\x00\x00\x80",
            b"\x00\x00\x10",
            b"\x00\x00\x40\x00",
            b"\x00\x00\xff\x24",
            b"\x00\x00\x54\x82\x00\x00",
            b"\x00\x00\x54\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x00\x00\x54\x7f\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        ];
        for block in foreign {
            assert!(matches!(read(block), Err(HttpError::Fields { .. })), "{block:?}");
        }
        let block = response(200, 5);
        for end in [0, 1, 4, 5] {
            assert!(read(&block[..end]).is_err(), "{end}");
        }
        for first in 0..=255u8 {
            for second in 0..=255u8 {
                let _ = read(&[0, 0, first, second, 0xff, 0xff]);
            }
        }
    }
}
