//! What a scan finds out.

use std::net::SocketAddr;

use quiclab_metrics::HandshakeClass;

/// How a handshake ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The client has the server's Finished, and its own is sent.
    Completed,
    /// The server closed or reset the connection before that.
    Closed,
    /// Nothing came back.
    Silent,
    /// The server answered, and the handshake did not complete in time.
    TimedOut,
    /// The server does not speak the version, and said which ones it speaks.
    VersionNegotiation,
    /// ICMP: port unreachable.
    Refused,
    /// ICMP: administratively prohibited.
    Prohibited,
    /// ICMP: another reason why packets do not arrive.
    Unreachable,
    /// The server sent what the RFCs forbid, or more bytes than a handshake may have.
    Malformed,
    /// The certificate is not valid, where that is checked.
    Untrusted,
    /// No packet left: a name that cannot be in a ClientHello, an address without a route, no room.
    NotSent,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 11] = [
        Outcome::Completed,
        Outcome::Closed,
        Outcome::Silent,
        Outcome::TimedOut,
        Outcome::VersionNegotiation,
        Outcome::Refused,
        Outcome::Prohibited,
        Outcome::Unreachable,
        Outcome::Malformed,
        Outcome::Untrusted,
        Outcome::NotSent,
    ];

    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::Closed => "closed",
            Outcome::Silent => "silent",
            Outcome::TimedOut => "timed_out",
            Outcome::VersionNegotiation => "version_negotiation",
            Outcome::Refused => "refused",
            Outcome::Prohibited => "prohibited",
            Outcome::Unreachable => "unreachable",
            Outcome::Malformed => "malformed",
            Outcome::Untrusted => "untrusted",
            Outcome::NotSent => "not_sent",
        }
    }
}

/// The header section of a response to a HEAD request, as much of it as is kept: a server may send tens of kilobytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpAnswer {
    /// Status code, of the final response.
    pub status: u16,
    /// Field `server`.
    pub server: Option<String>,
    /// Field `alt-svc`. Several are joined with a comma.
    pub alt_svc: Option<String>,
    /// Fields that were asked for, in the order of the response.
    pub headers: Vec<(String, String)>,
    /// What is missing of these, as text for people.
    pub cut: Option<String>,
}

/// A datagram of a handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPacket {
    /// When it was handed to the kernel or the kernel received it: nanoseconds since the Unix epoch, without steps of the clock
    /// since the handshake began.
    pub time_ns: u64,
    /// Whether the scanner sent it.
    pub is_sent: bool,
    /// UDP payload.
    pub bytes: Vec<u8>,
}

/// What became of a [`Request`](crate::Request).
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// ID of the request.
    pub id: u64,
    /// Address of the request.
    pub address: SocketAddr,
    /// Where the scanner's packets came from. Its IP address is unspecified where nothing came back.
    pub local: Option<SocketAddr>,
    /// How it ended.
    pub outcome: Outcome,
    /// When the first datagram was sent, in nanoseconds since the Unix epoch; when it was asked for where none was sent.
    pub started: u64,
    /// Nanoseconds from `started` until the datagram was received with which the handshake completed, by the kernel's time of reception.
    pub handshake_ns: Option<u64>,
    /// Application protocol that the server chose.
    pub application_protocol: Option<String>,
    /// What the packets show. `None` where nothing came back.
    pub class: Option<HandshakeClass>,
    /// The response to the HEAD request.
    pub http: Option<HttpAnswer>,
    /// What else there is to know, as text for people: why it failed, a clock that stepped, datagrams of others.
    pub detail: Option<String>,
    /// UDP payload that the server sent in datagrams of this handshake, in bytes.
    pub received_bytes: u64,
    /// All datagrams of the handshake in the order of time, where they were asked for.
    pub packets: Vec<KeptPacket>,
    /// Lines of its key log, as NSS writes them, where packets were asked for.
    pub key_log: Vec<String>,
}

impl Answer {
    /// Makes the answer to a request that nothing else is known of.
    pub(crate) fn new(id: u64, address: SocketAddr, outcome: Outcome, started: u64) -> Self {
        Answer {
            id,
            address,
            local: None,
            outcome,
            started,
            handshake_ns: None,
            application_protocol: None,
            class: None,
            http: None,
            detail: None,
            received_bytes: 0,
            packets: Vec::new(),
            key_log: Vec::new(),
        }
    }
}
