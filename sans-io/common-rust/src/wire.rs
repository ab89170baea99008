//! Orders and answers as bytes, in both directions: programs read orders and write answers, tests the other way round.

/// Most bytes of an answer, without the four of its length.
pub const ANSWER_LIMIT: usize = 16 * 1024 * 1024;

/// Most bytes of a buffer: the longest payload of UDP in IPv4.
pub const BUFFER_LIMIT: usize = 65_507;

/// Stands for no time.
const NEVER: u64 = u64::MAX;

/// A datagram that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The two bits of ECN, as in the IP header.
    pub ecn: u8,
    /// Payload of UDP.
    pub payload: Vec<u8>,
}

/// What an endpoint is called with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Nanoseconds since the start of the run.
    pub now_ns: u64,
    /// What has arrived since the last order, in this order.
    pub datagrams: Vec<Received>,
}

/// One or more datagrams of one length, as a system call with UDP_SEGMENT takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The two bits of ECN.
    pub ecn: u8,
    /// Bytes of each datagram but the last one, which may be shorter; all of the payload where it is one datagram.
    pub segment: u16,
    /// When the stack would have it sent, in nanoseconds since the start of the run; `None`: as soon as possible.
    pub planned: Option<u64>,
    /// The payloads of the datagrams.
    pub payload: Vec<u8>,
}

impl Buffer {
    /// One datagram, to be sent as soon as possible. `None` where it is longer than [`BUFFER_LIMIT`].
    pub fn datagram(ecn: u8, payload: Vec<u8>) -> Option<Self> {
        let segment = u16::try_from(payload.len()).ok().filter(|_| payload.len() <= BUFFER_LIMIT)?;
        Some(Self { ecn, segment, planned: None, payload })
    }
}

/// What an endpoint has to say to an order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// True: all files are stored and right, and this is a client's last answer.
    pub is_done: bool,
    /// When to call even if nothing arrives, in nanoseconds since the start of the run; `None`: never.
    pub next: Option<u64>,
    /// What to send, in this order.
    pub buffers: Vec<Buffer>,
}

/// Bytes that are no order, or no answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The end comes before that of a field.
    #[error("byte {offset}: found {left} bytes more, expected {expected}: {field}")]
    Short {
        /// Where the field begins.
        offset: usize,
        /// Name of the field.
        field: &'static str,
        /// Its bytes.
        expected: usize,
        /// Bytes that there are.
        left: usize,
    },
    /// More than the fields say.
    #[error("byte {offset}: found {left} bytes more, expected the end")]
    Long {
        /// Where the end should be.
        offset: usize,
        /// Bytes after it.
        left: usize,
    },
    /// A value that the field cannot have.
    #[error("byte {offset}: found {found}, expected {expected}: {field}")]
    Value {
        /// Where the field begins.
        offset: usize,
        /// Name of the field.
        field: &'static str,
        /// Its value.
        found: u64,
        /// What it may be.
        expected: &'static str,
    },
}

/// An answer or order that cannot be written.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: found {found}, expected {expected}")]
pub struct FormatError {
    field: &'static str,
    found: usize,
    expected: &'static str,
}

impl Order {
    /// Reads what follows the length.
    ///
    /// # Errors
    /// Where the bytes are no order.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut fields = Fields { bytes, offset: 0 };
        let now_ns = u64::from_le_bytes(fields.array("now")?);
        let count = u16::from_le_bytes(fields.array("number of datagrams")?);
        let datagrams = (0..count).map(|_| {
            let ecn = fields.ecn()?;
            let payload = fields.counted("payload")?.to_vec();
            Ok(Received { ecn, payload })
        });
        let datagrams = datagrams.collect::<Result<_, _>>()?;
        fields.end()?;
        Ok(Self { now_ns, datagrams })
    }

    /// The order with its length before it.
    ///
    /// # Errors
    /// Where there are too many datagrams or bytes for the fields.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatError> {
        let mut bytes = vec![0; 4];
        bytes.extend(self.now_ns.to_le_bytes());
        bytes.extend(count("number of datagrams", self.datagrams.len())?.to_le_bytes());
        for Received { ecn, payload } in &self.datagrams {
            bytes.push(*ecn);
            bytes.extend(length("datagram", payload.len())?.to_le_bytes());
            bytes.extend(payload);
        }
        with_length(bytes)
    }
}

impl Answer {
    /// Reads what follows the length.
    ///
    /// # Errors
    /// Where the bytes are no answer.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let mut fields = Fields { bytes, offset: 0 };
        let is_done = match fields.array("done")? {
            [0] => false,
            [1] => true,
            [found] => return Err(fields.value(1, "done", found.into(), "0 or 1")),
        };
        let next = fields.time("next")?;
        let count = u16::from_le_bytes(fields.array("number of buffers")?);
        let buffers = (0..count).map(|_| {
            let ecn = fields.ecn()?;
            let segment = u16::from_le_bytes(fields.array("length of a datagram")?);
            let planned = fields.time("planned send time")?;
            let payload = fields.counted("payloads")?.to_vec();
            Ok(Buffer { ecn, segment, planned, payload })
        });
        let buffers = buffers.collect::<Result<_, _>>()?;
        fields.end()?;
        Ok(Self { is_done, next, buffers })
    }

    /// The answer with its length before it.
    ///
    /// # Errors
    /// Where it is beyond the limits of the protocol.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatError> {
        let mut bytes = vec![0; 4];
        bytes.push(self.is_done.into());
        bytes.extend(self.next.unwrap_or(NEVER).to_le_bytes());
        bytes.extend(count("number of buffers", self.buffers.len())?.to_le_bytes());
        for buffer in &self.buffers {
            buffer.check()?;
            bytes.push(buffer.ecn);
            bytes.extend(buffer.segment.to_le_bytes());
            bytes.extend(buffer.planned.unwrap_or(NEVER).to_le_bytes());
            bytes.extend(length("buffer", buffer.payload.len())?.to_le_bytes());
            bytes.extend(&buffer.payload);
        }
        if bytes.len() - 4 > ANSWER_LIMIT {
            return Err(FormatError { field: "answer", found: bytes.len() - 4, expected: "at most 16 MiB" });
        }
        with_length(bytes)
    }
}

impl Buffer {
    fn check(&self) -> Result<(), FormatError> {
        let bytes = self.payload.len();
        let wrong = |field, found, expected| Err(FormatError { field, found, expected });
        if self.ecn > 3 {
            return wrong("ECN of a buffer", self.ecn.into(), "two bits");
        }
        if bytes == 0 || bytes > BUFFER_LIMIT {
            return wrong("bytes of a buffer", bytes, "1 to 65 507");
        }
        if self.segment == 0 || usize::from(self.segment) > bytes {
            return wrong("length of a datagram", self.segment.into(), "1 to the length of the buffer");
        }
        Ok(())
    }
}

fn count(field: &'static str, found: usize) -> Result<u16, FormatError> {
    u16::try_from(found).map_err(|_| FormatError { field, found, expected: "at most 65 535" })
}

fn length(field: &'static str, found: usize) -> Result<u32, FormatError> {
    u32::try_from(found).map_err(|_| FormatError { field, found, expected: "less than 4 GiB" })
}

fn with_length(mut bytes: Vec<u8>) -> Result<Vec<u8>, FormatError> {
    let length = length("length", bytes.len() - 4)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

struct Fields<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Fields<'a> {
    fn take(&mut self, field: &'static str, expected: usize) -> Result<&'a [u8], ParseError> {
        let left = self.bytes.len();
        let Some((first, rest)) = self.bytes.split_at_checked(expected) else {
            return Err(ParseError::Short { offset: self.offset, field, expected, left });
        };
        self.bytes = rest;
        self.offset += expected;
        Ok(first)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], ParseError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(field, N)?);
        Ok(array)
    }

    fn counted(&mut self, field: &'static str) -> Result<&'a [u8], ParseError> {
        let length = u32::from_le_bytes(self.array("length")?);
        self.take(field, length as usize)
    }

    fn ecn(&mut self) -> Result<u8, ParseError> {
        match self.array("ECN")? {
            [ecn @ 0..=3] => Ok(ecn),
            [found] => Err(self.value(1, "ECN", found.into(), "two bits")),
        }
    }

    fn time(&mut self, field: &'static str) -> Result<Option<u64>, ParseError> {
        let time = u64::from_le_bytes(self.array(field)?);
        Ok((time != NEVER).then_some(time))
    }

    fn value(&self, bytes: usize, field: &'static str, found: u64, expected: &'static str) -> ParseError {
        ParseError::Value { offset: self.offset - bytes, field, found, expected }
    }

    fn end(&self) -> Result<(), ParseError> {
        match self.bytes.len() {
            0 => Ok(()),
            left => Err(ParseError::Long { offset: self.offset, left }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Order {
        let datagrams = vec![Received { ecn: 2, payload: vec![7; 1200] }, Received { ecn: 0, payload: Vec::new() }];
        Order { now_ns: 0x0102_0304_0506_0708, datagrams }
    }

    fn answer() -> Answer {
        let batch = Buffer { ecn: 2, segment: 1200, planned: Some(5), payload: vec![1; 3000] };
        let buffers = vec![batch, Buffer::datagram(0, vec![2; 40]).unwrap()];
        Answer { is_done: true, next: Some(9), buffers }
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let bytes = order().to_bytes().unwrap();
        assert_eq!(bytes[..12], [0xc4, 4, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(Order::parse(&bytes[4..]), Ok(order()));
        let bytes = answer().to_bytes().unwrap();
        assert_eq!(Answer::parse(&bytes[4..]), Ok(answer()));
        let nothing = Answer::default().to_bytes().unwrap();
        assert_eq!(nothing, [&[11, 0, 0, 0, 0][..], &[0xff; 8], &[0, 0]].concat());
        assert_eq!(Answer::parse(&nothing[4..]), Ok(Answer::default()));
    }

    #[test]
    fn what_is_too_short_or_too_long_is_an_error_at_every_byte() {
        let bytes = order().to_bytes().unwrap().split_off(4);
        for end in 0..bytes.len() {
            assert!(matches!(Order::parse(&bytes[..end]), Err(ParseError::Short { .. })), "{end}");
        }
        assert_eq!(Order::parse(&[&bytes[..], &[0]].concat()), Err(ParseError::Long { offset: bytes.len(), left: 1 }));
        let bytes = answer().to_bytes().unwrap().split_off(4);
        for end in 0..bytes.len() {
            assert!(matches!(Answer::parse(&bytes[..end]), Err(ParseError::Short { .. })), "{end}");
        }
    }

    #[test]
    fn foreign_values_are_errors() {
        let mut bytes = order().to_bytes().unwrap().split_off(4);
        bytes[10] = 4;
        let expected = ParseError::Value { offset: 10, field: "ECN", found: 4, expected: "two bits" };
        assert_eq!(Order::parse(&bytes), Err(expected));
        bytes[11..15].fill(0xff);
        bytes[10] = 0;
        assert!(matches!(Order::parse(&bytes), Err(ParseError::Short { expected: 0xffff_ffff, .. })));
    }

    #[test]
    fn what_is_beyond_the_limits_is_not_written() {
        let with = |buffer| Answer { buffers: vec![buffer], ..Answer::default() }.to_bytes().is_ok();
        let buffer = |segment, length| Buffer { ecn: 0, segment, planned: None, payload: vec![0; length] };
        for (segment, length, expected) in [
            (1, 1, true),
            (0, 1, false),
            (2, 1, false),
            (1, 0, false),
            (1200, BUFFER_LIMIT, true),
            (1200, BUFFER_LIMIT + 1, false),
        ] {
            assert_eq!(with(buffer(segment, length)), expected, "{segment} {length}");
        }
        assert!(!with(Buffer { ecn: 4, ..buffer(1, 1) }));
        let many = |count| Answer { buffers: vec![buffer(1200, BUFFER_LIMIT); count], ..Answer::default() };
        assert!(many(256).to_bytes().is_ok());
        assert!(many(257).to_bytes().is_err());
    }
}
