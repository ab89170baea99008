//! Segments with their payload, copied out of a capture, so that another thread can take them.

use std::ops::Range;

use crate::frame::{Segment, Transport};

/// Segments in the order of the capture. Keeps its memory when it is cleared.
#[derive(Default)]
pub struct SegmentBatch {
    /// Payloads and TCP options, one behind the other.
    bytes: Vec<u8>,
    rows: Vec<Row>,
}

struct Row {
    number: u64,
    /// The segment without payload and options, which `bytes` has.
    segment: Segment<'static>,
    payload: Range<usize>,
    options: Range<usize>,
}

impl SegmentBatch {
    /// Appends a copy of a segment. `number` is that of its frame in the file, from 1.
    pub fn push(&mut self, number: u64, segment: &Segment) {
        let payload = self.copy(segment.payload);
        let (transport, options) = match segment.transport {
            Transport::Udp => (Transport::Udp, 0..0),
            Transport::Tcp { sequence_number, acknowledgment_number, flags, options } => {
                (Transport::Tcp { sequence_number, acknowledgment_number, flags, options: &[] }, self.copy(options))
            }
        };
        self.rows.push(Row { number, segment: Segment { payload: &[], transport, ..*segment }, payload, options });
    }

    fn copy(&mut self, bytes: &[u8]) -> Range<usize> {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        begin..self.bytes.len()
    }

    /// The segments with the numbers of their frames, as they were pushed.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Segment<'_>)> {
        self.rows.iter().map(|row| {
            let mut segment: Segment = row.segment;
            segment.payload = &self.bytes[row.payload.clone()];
            if let Transport::Tcp { options, .. } = &mut segment.transport {
                *options = &self.bytes[row.options.clone()];
            }
            (row.number, segment)
        })
    }

    /// Segments in it.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes of payload and options in it.
    pub fn payload_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Removes all segments.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.bytes.clear();
    }
}
