//! What the report of a scan is given.

/// One handshake, from the columns of the same names (docs/reference/scan.md). `None`: not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanReportRow {
    /// When the first datagram left, in nanoseconds since 1970; 0 where none left.
    pub time_ns: u64,
    /// The server's name. An empty text is none, here and below.
    pub name: Option<String>,
    /// Place of the name in a list of names, from 1. Where there is no group, it says whether a name is popular.
    pub rank: Option<u64>,
    /// Group of the target, to compare with others, such as `popular` and `unpopular`.
    pub group: Option<String>,
    /// The network that runs the server; `None` is what the study calls others.
    pub cdn: Option<String>,
    /// Where the server is: the code of an airport.
    pub location: Option<String>,
    /// Place from where was scanned.
    pub place: Option<String>,
    /// The server's first answer, by the names of `quiclab_metrics::FirstAnswer`; another word counts as not known.
    pub first_answer: Option<String>,
    /// Whether an instant ACK was padded to at least 1200 bytes.
    pub is_ack_padded: Option<bool>,
    /// Time from the first acknowledgment to the ServerHello.
    pub ack_to_hello_ns: Option<u64>,
    /// Time from the ClientHello to the first acknowledgment.
    pub first_rtt_ns: Option<u64>,
    /// ACK Delay of the first ACK frame in an Initial packet.
    pub initial_ack_delay_ns: Option<u64>,
    /// ACK Delay of the first ACK frame in a Handshake packet.
    pub handshake_ack_delay_ns: Option<u64>,
    /// `completed` where the handshake completed. Rows of captures have no outcome: give `completed` where `is_complete` is true.
    pub outcome: Option<String>,
    /// What the server sent before the client's address was validated, divided by what it had received. What is not finite is not known.
    pub amplification_factor: Option<f64>,
    /// Bytes of the Certificate message.
    pub certificate_bytes: Option<u64>,
    /// How long the limit of three times (RFC 9000, section 8.1) kept the server from sending; 0 where it did not.
    pub blocked_ns: Option<u64>,
}
