//! One event, as handed out.

/// One event of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QlogEvent {
    /// Index of the trace in the file ([`QlogSummary::traces`](super::QlogSummary::traces)).
    pub trace: usize,
    /// ns since the trace's time 0: [`QlogTrace::reference_ns`](super::QlogTrace::reference_ns). May be negative.
    pub time_ns: i64,
    /// What happened.
    pub kind: QlogEventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QlogEventKind {
    /// A packet left the stack. Several may share a datagram.
    PacketSent(QlogPacket),
    /// A packet was received and its protection removed.
    PacketReceived(QlogPacket),
    /// A packet was declared lost.
    PacketLost(QlogPacket),
    /// Recovery metrics. Most stacks write only what changed.
    Metrics(QlogMetrics),
    /// The congestion controller entered another state.
    CongestionState {
        /// Its name, as the stack has it.
        new: String,
    },
    /// A loss timer was set, cancelled, or has expired.
    LossTimer {
        /// `set`, `expired` or `cancelled`, as the stack has it.
        event: String,
        /// `pto` or `ack`, as the stack has it; empty where it does not say.
        timer: String,
    },
    /// Any other event: `category:event`, or the name alone where there is no category.
    Other(String),
}

/// The type of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QlogSpace {
    /// Initial.
    Initial,
    /// Handshake.
    Handshake,
    /// 0-RTT: numbered in one space with 1-RTT.
    ZeroRtt,
    /// 1-RTT.
    OneRtt,
    /// Retry: has no number.
    Retry,
    /// Version Negotiation: has no number.
    VersionNegotiation,
    /// Stateless Reset: has no number.
    StatelessReset,
}

/// One packet. `None`: the stack does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QlogPacket {
    /// Its type.
    pub space: Option<QlogSpace>,
    /// Its number.
    pub packet_number: Option<u64>,
    /// Bytes of the packet with header and tag, without UDP and IP.
    pub length: Option<u64>,
    /// Name of the datagram that carried it; packets with the same one were coalesced.
    pub datagram_id: Option<u32>,
    /// True: `datagram_id` is the CRC32c of the UDP payload (quic-go). False: a number of the stack's own choice, or none.
    pub datagram_id_is_crc32c: bool,
    /// Time at which the stack planned to send (quiche: `send_at_time`), with the same zero as
    /// [`QlogEvent::time_ns`].
    pub planned_time_ns: Option<i64>,
}

/// Recovery metrics. `None`: not in this event, mostly because it did not change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QlogMetrics {
    /// Smoothed RTT (RFC 9002, 5.3).
    pub smoothed_rtt_ns: Option<u64>,
    /// Mean deviation of the RTT.
    pub rtt_variance_ns: Option<u64>,
    /// Latest sample.
    pub latest_rtt_ns: Option<u64>,
    /// Smallest sample.
    pub min_rtt_ns: Option<u64>,
    /// Congestion window.
    pub congestion_window_bytes: Option<u64>,
    /// Bytes in flight.
    pub bytes_in_flight_bytes: Option<u64>,
    /// Slow start threshold. Stacks write their largest integer for "none yet".
    pub ssthresh_bytes: Option<u64>,
    /// Probe timeouts in a row.
    pub pto_count: Option<u64>,
    /// Pacing rate, bits per second.
    pub pacing_rate_bps: Option<u64>,
}
