//! What modelled hosts send each other: segments of TCP without their bytes.

use quiclab_units::Time;

/// A segment of data or an acknowledgment. Sequence numbers count segments, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Data.
    Data {
        /// Which segment.
        sequence: u64,
        /// When it was sent, as the timestamp option would say (RFC 7323).
        sent: Time,
        /// Whether it was sent before.
        is_retransmission: bool,
        /// Whether the sender has reduced its window (CWR, RFC 3168).
        has_reduced: bool,
    },
    /// An acknowledgment.
    Acknowledgment {
        /// The first segment that has not arrived.
        next: u64,
        /// Ranges of later segments that have, begin included and end not, the latest first; empty ones are unused.
        selective: [(u64, u64); 3],
        /// [`Segment::Data::sent`] of the segment that made the receiver answer.
        echo: Time,
        /// Whether that was sent for the first time.
        is_first: bool,
        /// Whether it repeats a mark (ECE, RFC 3168).
        is_marked: bool,
    },
}
