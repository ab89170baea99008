//! What the page of a transfer is made of.

use quiclab_metrics::{SenderLog, Verdicts};

/// One datagram or segment at the tap. Times in ns; `None`: not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookPacket {
    /// Number of its frame in the capture, from 1.
    pub frame: u64,
    /// Time since the first packet at the tap.
    pub time_ns: u64,
    /// Whether the server sent it.
    pub is_server: bool,
    /// Bytes of the frame on the wire.
    pub bytes: u32,
    /// Packet number of its last 1-RTT packet.
    pub number: Option<u64>,
    /// What its sender has in flight after it.
    pub bytes_in_flight: Option<u64>,
    /// Time from the packet until it was acknowledged.
    pub acknowledged_after_ns: Option<u64>,
    /// Whether RFC 9002 declares it lost.
    pub is_lost: bool,
    /// Whether it never came to the tap behind the bottleneck.
    pub is_dropped: bool,
    /// Whether it has bytes of streams that were sent before.
    pub is_retransmission: bool,
    /// Time from this tap to the one behind the bottleneck.
    pub behind_bottleneck_after_ns: Option<u64>,
    /// How much later it left than planned, above the smallest.
    pub late_ns: Option<u64>,
    /// Largest 1-RTT packet number that it acknowledges.
    pub largest_acknowledged: Option<u64>,
    /// Sample of the round-trip time that it gives its receiver.
    pub rtt_ns: Option<u64>,
    /// Bytes of streams in it that arrive for the first time.
    pub new_stream_bytes: u64,
    /// QUIC packets and frames of the packet, in words.
    pub content: String,
}

/// One transfer.
#[derive(Clone, Debug)]
pub struct LookTransfer {
    /// Name of the transfer.
    pub name: String,
    /// Where the packets of the transfer were seen.
    pub tap: String,
    /// Time of the server's first packet.
    pub server_start_ns: u64,
    /// Gaps below it join packets into trains.
    pub train_threshold_ns: u64,
    /// The packets, in the order of the capture.
    pub packets: Vec<LookPacket>,
    /// The sender's own log. `None`: there is none.
    pub log: Option<SenderLog>,
    /// What its numbers mean.
    pub verdicts: Verdicts,
    /// What the page does not show, and why.
    pub notes: Vec<String>,
    /// What to look at before trusting them.
    pub warnings: Vec<String>,
}
