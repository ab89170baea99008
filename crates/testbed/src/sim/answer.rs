//! Orders to an endpoint without sockets, and its answers: docs/reference/sans-io-endpoint.md. Answers are foreign bytes.

use quiclab_sim::transfer::stack::{Answer, Buffer, Datagram};
use quiclab_units::Time;

/// The longest answer.
pub const MOST_ANSWER_BYTES: usize = 16 << 20;
/// The longest payload of a UDP datagram over IPv4, and the longest buffer.
const MOST_BUFFER_BYTES: usize = 65_507;
/// Datagrams of a buffer: Linux's `UDP_MAX_SEGMENTS`.
const MOST_BUFFER_DATAGRAMS: usize = 128;
/// Datagrams of an answer: as many as 40 MB of usual ones, so that tiny ones do not fill memory.
const MOST_DATAGRAMS: usize = 32_768;
/// What stands for no time.
const NEVER: u64 = u64::MAX;

/// What is wrong with an order or an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AnswerError(String);

/// An order, with its length.
///
/// # Errors
/// More datagrams than an order has room for.
pub fn order(now: Time, arrived: &[Datagram]) -> Result<Vec<u8>, AnswerError> {
    let count = u16::try_from(arrived.len()).map_err(|_| {
        AnswerError(format!(
            "found {} datagrams waiting for it, expected at most 65535: it leaves too long between its calls",
            arrived.len()
        ))
    })?;
    let payloads: usize = arrived.iter().map(|datagram| 5 + datagram.payload.len()).sum();
    let mut bytes = Vec::with_capacity(14 + payloads);
    bytes.extend((10 + payloads as u32).to_le_bytes());
    bytes.extend(now.as_nanos().to_le_bytes());
    bytes.extend(count.to_le_bytes());
    for datagram in arrived {
        bytes.push(datagram.ecn);
        bytes.extend((datagram.payload.len() as u32).to_le_bytes());
        bytes.extend(&datagram.payload);
    }
    Ok(bytes)
}

/// The length of an answer from its first four bytes.
///
/// # Errors
/// More than [`MOST_ANSWER_BYTES`].
pub fn length(bytes: [u8; 4]) -> Result<usize, AnswerError> {
    let length = u32::from_le_bytes(bytes) as usize;
    if length > MOST_ANSWER_BYTES {
        return Err(AnswerError(format!("found a length of {length} bytes, expected at most {MOST_ANSWER_BYTES}")));
    }
    Ok(length)
}

/// An answer without its length.
///
/// # Errors
/// What is not as the reference has it, and more than an answer may have.
pub fn answer(bytes: &[u8]) -> Result<Answer, AnswerError> {
    let mut parts = Parts(bytes);
    let is_done = match parts.number::<1>()? {
        0 => false,
        1 => true,
        other => return Err(AnswerError(format!("found state {other}, expected 0 or 1"))),
    };
    let next = parts.time()?;
    let count = parts.number::<2>()?;
    let mut buffers = Vec::new();
    let mut datagrams = 0;
    for number in 1..=count {
        let ecn = parts.number::<1>()? as u8;
        let segment = parts.number::<2>()? as usize;
        let planned = parts.time()?;
        let length = parts.number::<4>()? as usize;
        let payload = parts.take(length)?;
        if ecn > 3 || segment == 0 || payload.is_empty() || payload.len() > MOST_BUFFER_BYTES {
            return Err(AnswerError(format!(
                "buffer {number}: found ECN {ecn}, datagrams of {segment} bytes and {length} bytes, expected ECN up to 3, a length from 1 and 1 to \
                 {MOST_BUFFER_BYTES} bytes"
            )));
        }
        let in_buffer = payload.len().div_ceil(segment);
        if in_buffer > MOST_BUFFER_DATAGRAMS {
            return Err(AnswerError(format!(
                "buffer {number}: found {in_buffer} datagrams of {segment} bytes, expected at most {MOST_BUFFER_DATAGRAMS}"
            )));
        }
        datagrams += in_buffer;
        if datagrams > MOST_DATAGRAMS {
            return Err(AnswerError(format!(
                "buffer {number} of {count}: found {datagrams} datagrams up to there, expected at most {MOST_DATAGRAMS}"
            )));
        }
        buffers.push(Buffer { ecn, segment, planned, payload: payload.to_vec() });
    }
    if !parts.0.is_empty() {
        return Err(AnswerError(format!("found {} bytes after its last buffer, expected none", parts.0.len())));
    }
    Ok(Answer { is_done, next, buffers })
}

/// What is left of an answer.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], AnswerError> {
        let Some((part, rest)) = self.0.split_at_checked(count) else {
            return Err(AnswerError(format!("found {} bytes where {count} are expected", self.0.len())));
        };
        self.0 = rest;
        Ok(part)
    }

    /// A little-endian number of so many bytes, at most 8.
    fn number<const BYTES: usize>(&mut self) -> Result<u64, AnswerError> {
        Ok(self.take(BYTES)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn time(&mut self) -> Result<Option<Time>, AnswerError> {
        let nanos = self.number::<8>()?;
        Ok((nanos != NEVER).then_some(Time::from_nanos(nanos)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An answer with buffers of this many bytes in datagrams of this length.
    fn bytes(buffers: &[(u16, u32)]) -> Vec<u8> {
        let mut bytes = vec![0];
        bytes.extend(NEVER.to_le_bytes());
        bytes.extend((buffers.len() as u16).to_le_bytes());
        for (segment, length) in buffers {
            bytes.push(0);
            bytes.extend(segment.to_le_bytes());
            bytes.extend(NEVER.to_le_bytes());
            bytes.extend(length.to_le_bytes());
            bytes.extend(vec![7; *length as usize]);
        }
        bytes
    }

    #[test]
    fn an_answer_is_read_as_the_reference_has_it() {
        let mut bytes = vec![1];
        bytes.extend(77u64.to_le_bytes());
        bytes.extend(1u16.to_le_bytes());
        bytes.push(2);
        bytes.extend(3u16.to_le_bytes());
        bytes.extend(NEVER.to_le_bytes());
        bytes.extend(4u32.to_le_bytes());
        bytes.extend(b"abcd");
        let read = answer(&bytes).unwrap();
        let buffer = Buffer { ecn: 2, segment: 3, planned: None, payload: b"abcd".to_vec() };
        assert_eq!(read, Answer { is_done: true, next: Some(Time::from_nanos(77)), buffers: vec![buffer.clone()] });
        assert_eq!(buffer.datagrams().map(|datagram| datagram.payload.len()).collect::<Vec<_>>(), [3, 1]);
        for cut in 0..bytes.len() {
            assert!(answer(&bytes[..cut]).is_err(), "{cut}");
        }
        bytes.push(0);
        assert!(answer(&bytes).unwrap_err().to_string().contains("1 bytes after its last buffer"));
    }

    #[test]
    fn a_buffer_has_as_many_datagrams_as_a_system_call_can_send() {
        assert_eq!(answer(&bytes(&[(10, 1_280)])).unwrap().buffers[0].datagrams().len(), 128);
        let error = answer(&bytes(&[(10, 1_281)])).unwrap_err().to_string();
        assert!(error.contains("buffer 1: found 129 datagrams of 10 bytes, expected at most 128"), "{error}");
    }

    #[test]
    fn tiny_datagrams_are_counted_over_the_whole_answer() {
        assert_eq!(answer(&bytes(&[(1, 128); 256])).unwrap().buffers.len(), 256);
        let error = answer(&bytes(&[(1, 128); 257])).unwrap_err().to_string();
        assert!(error.contains("buffer 257 of 257: found 32896 datagrams"), "{error}");
    }

    #[test]
    fn a_length_is_believed_up_to_16_mib() {
        assert_eq!(length((16u32 << 20).to_le_bytes()), Ok(16 << 20));
        let error = length(u32::MAX.to_le_bytes()).unwrap_err().to_string();
        assert!(error.contains("4294967295 bytes, expected at most 16777216"), "{error}");
    }

    #[test]
    fn an_order_has_the_length_of_what_follows() {
        let arrived = [Datagram { ecn: 2, payload: vec![1, 2, 3] }];
        let order = order(Time::from_nanos(258), &arrived).unwrap();
        let expected = [18, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 2, 3, 0, 0, 0, 1, 2, 3];
        assert_eq!(order, expected);
    }
}
