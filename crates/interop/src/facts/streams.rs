//! What one end sent on each stream.

use std::collections::BTreeMap;

/// Streams of one sender of which facts are kept: more than the cases that look at them have.
const MOST_STREAMS: usize = 1_000;

/// What one end sent on a stream, as far as its packets were read. Repeated data counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamFacts {
    /// Bytes up to the highest offset.
    pub bytes: u64,
    /// The first 8 bytes as a number in network byte order. `None` where no frame held all of them.
    pub head: Option<u64>,
    /// Whether a frame said that the stream ends there (the FIN bit, RFC 9000 section 19.8).
    pub has_end: bool,
}

/// Streams by stream ID. Those beyond the first thousand are left out.
#[derive(Default)]
pub(super) struct StreamMeter(BTreeMap<u64, StreamFacts>);

impl StreamMeter {
    /// Takes a STREAM frame.
    pub(super) fn on_frame(&mut self, stream: u64, offset: u64, length: u64, has_end: bool, head: Option<u64>) {
        if self.0.len() >= MOST_STREAMS && !self.0.contains_key(&stream) {
            return;
        }
        let facts = self.0.entry(stream).or_default();
        facts.bytes = facts.bytes.max(offset.saturating_add(length));
        facts.head = facts.head.or(head);
        facts.has_end |= has_end;
    }

    pub(super) fn finish(self) -> BTreeMap<u64, StreamFacts> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_data_counts_once_and_the_number_of_streams_is_bounded() {
        let mut meter = StreamMeter::default();
        meter.on_frame(4, 100, 50, true, None);
        meter.on_frame(4, 0, 100, false, Some(7));
        meter.on_frame(4, 0, 100, false, Some(8));
        for stream in 0..10_000 {
            meter.on_frame(stream * 4, 0, 1, false, None);
        }
        let found = meter.finish();
        assert_eq!(found[&4], StreamFacts { bytes: 150, head: Some(7), has_end: true });
        assert_eq!(found.len(), MOST_STREAMS);
    }
}
