//! What shares the path with the connections of a case.

use quiclab_units::Time;
use quiclab_wire::Segment;

/// TCP segments with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossTrafficFacts {
    /// Segments.
    pub segments: u64,
    /// Bytes of data in them.
    pub bytes: u64,
    /// Time of the first one.
    pub first: Time,
    /// Time of the last one.
    pub last: Time,
}

impl CrossTrafficFacts {
    /// Takes in a segment, if it has data of TCP.
    pub(super) fn add(all: &mut Option<Self>, segment: &Segment) {
        if !segment.is_tcp() || segment.payload_length == 0 {
            return;
        }
        let time = segment.time;
        let facts = all.get_or_insert(Self { segments: 0, bytes: 0, first: time, last: time });
        facts.segments += 1;
        facts.bytes += u64::from(segment.payload_length);
        facts.last = facts.last.max(time);
    }
}
