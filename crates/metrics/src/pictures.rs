//! What pictures of one sender are drawn from.

use crate::series::SeriesPoint;

/// What pictures are drawn from.
#[derive(Clone, Debug, Default)]
pub struct Pictures {
    /// Bytes of the stream (TCP: sequence number) sent, over time.
    pub sequence: Vec<SeriesPoint>,
    /// Bytes in flight over time.
    pub bytes_in_flight: Vec<SeriesPoint>,
    /// RTT samples in ns over time.
    pub rtt_ns: Vec<SeriesPoint>,
    /// (time since the flow's first packet in ns, sequence) of packets declared lost.
    pub lost: Vec<(u64, u64)>,
    /// The same of packets with bytes sent before.
    pub retransmitted: Vec<(u64, u64)>,
    /// Marks that were left out because there are too many.
    pub marks_left_out: u64,
}
