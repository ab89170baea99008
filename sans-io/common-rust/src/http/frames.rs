//! The frames on the stream of a request, as they come.

use super::{HttpError, varint};

/// Types of frames: RFC 9114, section 7.2.
const DATA: u64 = 0x0;
const HEADERS: u64 = 0x1;

/// Longest field section that is read, in bytes.
const FIELDS_LIMIT: u64 = 64 * 1024;

/// A part of a frame that matters.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// The whole field section of a HEADERS frame.
    Headers(Vec<u8>),
    /// Some bytes of a DATA frame, at least one.
    Data(&'a [u8]),
}

/// Cuts the bytes of a stream into frames.
#[derive(Debug)]
pub(super) enum Frames {
    /// So many bytes of type and length have come.
    Start(Vec<u8>),
    /// What has come of a field section.
    Headers { left: u64, fields: Vec<u8> },
    /// Within DATA.
    Data { left: u64 },
    /// Within a frame of no meaning here.
    Skipped { left: u64 },
}

impl Frames {
    /// At the beginning of a stream.
    pub(super) fn new() -> Self {
        Self::Start(Vec::new())
    }

    /// The next part in `input`, from which it is taken; `None`: all of `input` is taken.
    ///
    /// # Errors
    /// Where a frame has no place here, or is too long.
    pub(super) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Part<'a>>, HttpError> {
        loop {
            match self {
                Self::Start(start) => {
                    let Some(byte) = input.split_off_first() else { return Ok(None) };
                    start.push(*byte);
                    if let Some((kind, length)) = header(start) {
                        *self = Self::enter(kind, length)?;
                    }
                }
                Self::Headers { left, fields } => {
                    fields.extend_from_slice(take(input, left));
                    if *left > 0 {
                        return Ok(None);
                    }
                    let fields = std::mem::take(fields);
                    *self = Self::new();
                    return Ok(Some(Part::Headers(fields)));
                }
                Self::Data { left } | Self::Skipped { left } if *left == 0 => *self = Self::new(),
                Self::Data { .. } | Self::Skipped { .. } if input.is_empty() => return Ok(None),
                Self::Data { left } => return Ok(Some(Part::Data(take(input, left)))),
                Self::Skipped { left } => {
                    take(input, left);
                }
            }
        }
    }

    /// Looks whether the stream may end here.
    ///
    /// # Errors
    /// Where it is within a frame.
    pub(super) fn end(&self) -> Result<(), HttpError> {
        match self {
            Self::Start(start) if start.is_empty() => Ok(()),
            Self::Data { left: 0 } | Self::Skipped { left: 0 } => Ok(()),
            _ => Err(HttpError::Cut),
        }
    }

    fn enter(kind: u64, length: u64) -> Result<Self, HttpError> {
        match kind {
            HEADERS if length > FIELDS_LIMIT => {
                Err(HttpError::Long { what: "field section", found: length, expected: FIELDS_LIMIT })
            }
            HEADERS => Ok(Self::Headers { left: length, fields: Vec::new() }),
            DATA => Ok(Self::Data { left: length }),
            // Those of control streams, PUSH_PROMISE (no push was allowed), and those of HTTP/2 (RFC 9114, section 7.2.8).
            0x2..=0x9 | 0xd => Err(HttpError::Frame(kind)),
            _ => Ok(Self::Skipped { left: length }),
        }
    }
}

/// Type and length of a frame; `None`: there are more bytes to come.
fn header(bytes: &[u8]) -> Option<(u64, u64)> {
    let (kind, rest) = varint::read(bytes)?;
    let (length, _) = varint::read(rest)?;
    Some((kind, length))
}

/// At most `left` bytes, of which it takes them.
fn take<'a>(input: &mut &'a [u8], left: &mut u64) -> &'a [u8] {
    let count = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    let (taken, rest) = input.split_at(count);
    *input = rest;
    *left -= count as u64;
    taken
}

/// Appends type and length of a frame.
fn write_header(bytes: &mut Vec<u8>, kind: u64, length: u64) {
    varint::write(bytes, kind);
    varint::write(bytes, length);
}

/// A HEADERS frame.
pub(super) fn headers(fields: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(fields.len() + 4);
    write_header(&mut bytes, HEADERS, fields.len() as u64);
    bytes.extend_from_slice(fields);
    bytes
}

/// Appends the beginning of a DATA frame with so many bytes.
pub(super) fn write_data_header(bytes: &mut Vec<u8>, length: u64) {
    write_header(bytes, DATA, length);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All field sections, all data.
    fn collect(pieces: &[&[u8]]) -> Result<(Vec<Vec<u8>>, Vec<u8>), HttpError> {
        let (mut frames, mut sections, mut data) = (Frames::new(), Vec::new(), Vec::new());
        for piece in pieces {
            let mut input = *piece;
            while let Some(part) = frames.next(&mut input)? {
                match part {
                    Part::Headers(fields) => sections.push(fields),
                    Part::Data(bytes) => data.extend_from_slice(bytes),
                }
            }
            assert!(input.is_empty());
        }
        frames.end()?;
        Ok((sections, data))
    }

    fn stream() -> Vec<u8> {
        let mut bytes = headers(b"fields");
        // Reserved, of the form 0x1f * N + 0x21: RFC 9114, section 7.2.8.
        write_header(&mut bytes, 0x1f * 1000 + 0x21, 3);
        bytes.extend(b"...");
        write_header(&mut bytes, 0x21, 0);
        write_data_header(&mut bytes, 70);
        bytes.extend([7; 70]);
        write_data_header(&mut bytes, 0);
        write_data_header(&mut bytes, 1);
        bytes.push(8);
        bytes.extend(headers(b""));
        bytes
    }

    #[test]
    fn frames_are_found_wherever_the_stream_is_cut() {
        let bytes = stream();
        let expected = (vec![b"fields".to_vec(), Vec::new()], [&[7; 70][..], &[8]].concat());
        for first in 0..=bytes.len() {
            let (start, rest) = bytes.split_at(first);
            assert_eq!(collect(&[start, rest]).unwrap(), expected, "{first}");
        }
        let single: Vec<_> = bytes.chunks(1).collect();
        assert_eq!(collect(&single).unwrap(), expected);
    }

    #[test]
    fn a_stream_may_end_between_frames_only() {
        let bytes = stream();
        let ends: Vec<_> = (0..=bytes.len()).filter(|&end| collect(&[&bytes[..end]]).is_ok()).collect();
        assert_eq!(ends, [0, 8, 16, 18, 91, 93, 96, 98]);
    }

    #[test]
    fn frames_that_have_no_place_here_are_errors() {
        for kind in [0x2, 0x3, 0x4, 0x5, 0x6, 0x7, 0x8, 0x9, 0xd] {
            assert!(matches!(collect(&[&[kind, 0]]), Err(HttpError::Frame(found)) if found == u64::from(kind)));
        }
        let mut bytes = Vec::new();
        write_header(&mut bytes, HEADERS, FIELDS_LIMIT + 1);
        assert!(matches!(collect(&[&bytes]), Err(HttpError::Long { .. })));
        bytes.clear();
        write_header(&mut bytes, DATA, (1 << 62) - 1);
        assert!(matches!(collect(&[&bytes, &[1; 100]]), Err(HttpError::Cut)));
    }
}
