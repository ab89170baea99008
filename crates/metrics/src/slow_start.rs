//! What ended slow start, and how that is known.

use serde::{Deserialize, Serialize};

/// What ended slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlowStartEnd {
    /// QUIC: an ACK declared a packet lost, RFC 9002 section 6.1.
    FirstLoss,
    /// TCP: data were sent again.
    Retransmission,
    /// The sender's own log has its congestion window fall from its peak, and no loss was seen before it.
    WindowPeak,
    /// The sender's own log says that it left slow start, and no loss was seen before it.
    LoggedState,
    /// Nothing of this happened: the whole flow is slow start.
    NotSeen,
    /// It cannot be known: what it rests on was not captured or could not be read.
    Unknown,
}

/// Where slow start and steady state part, and how that is known. The time is `slow_start_end_ns`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowStart {
    /// What ended it.
    pub ended_by: SlowStartEnd,
    /// The same in words and numbers.
    pub evidence: String,
}
