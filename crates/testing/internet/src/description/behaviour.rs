//! What a host does with the packets that reach it.

use std::net::IpAddr;

use quiclab_units::Duration;

use super::Delay;

/// What a host does. `server` is the name of a [`Server`](super::Server).
#[derive(Clone, Debug, PartialEq)]
pub enum Behaviour {
    /// A real server answers.
    Serve {
        /// Its name.
        server: String,
    },
    /// A real server answers, but a certificate that comes late holds its answers back: none leaves before the delay is over, counted from
    /// the client's first packet. The server itself has its certificate at once, so the delay should be shorter than its probe timeout.
    LateCertificate {
        /// Its name.
        server: String,
        /// Drawn for each flow.
        delay: Delay,
        /// Whether the first datagram leaves at once. Of a server that acknowledges in a datagram of its own, that is its instant ACK.
        keeps_first: bool,
    },
    /// Nobody answers.
    Silent,
    /// An ICMP message answers.
    Icmp(Unreachable),
    /// Answers with forged ICMP messages about other hosts: it knows the client's port, but not what the client sends to them.
    IcmpAboutOthers {
        /// The type and code of the messages.
        why: Unreachable,
        /// The addresses that the messages are about, of the same family as the host's own, which may be among them.
        others: Vec<IpAddr>,
        /// Bytes behind the IP header that each message quotes, at least the 8 of UDP's header. What follows is the client's datagram to the
        /// host itself, which is all that it has.
        quoted: usize,
    },
    /// What answers is no handshake.
    Rubbish(Rubbish),
    /// Speaks other versions than the client: a Version Negotiation packet (RFC 9000 section 6.1) answers every packet of a
    /// version that is not listed.
    VersionNegotiation {
        /// Versions, as listed in the packet.
        versions: Vec<u32>,
        /// Who answers packets of the listed versions; `None`: nobody.
        server: Option<String>,
    },
    /// A Retry packet (RFC 9000 section 17.2.5) answers every Initial packet of version 1, with a token or without: a client
    /// gets no further. For a server that asks once, let a real server do so.
    RetryForEver,
    /// An acknowledgment in an Initial packet answers, and then nothing: an instant ACK of a server that never gets its
    /// certificate.
    AckOnly,
    /// The answers of a real server come from an address that the client did not ask.
    FromAnotherAddress {
        /// Its name.
        server: String,
        /// Address that answers: of a group, and of the family of the host's own.
        address: IpAddr,
    },
    /// A real server answers, and its long datagrams are repeated until more bytes went to the client than it may get before
    /// its address is known to be its own (RFC 9000 section 8.1).
    Amplifier {
        /// Its name.
        server: String,
        /// Bytes to the client, at least, in percent of those that came from it: 310 is 3.1 times.
        percent: u32,
    },
    /// A real server answers, and its datagrams leave one by one.
    Trickle {
        /// Its name.
        server: String,
        /// Time from one datagram to the next, at least.
        gap: Duration,
    },
    /// The first packet of a client starts a stream of datagrams that does not heed what the client says.
    Flood {
        /// Time from one datagram to the next.
        interval: Duration,
        /// How long it goes on.
        lasting: Duration,
    },
    /// A CONNECTION_CLOSE frame (RFC 9000 section 19.19, type 0x1c) in an Initial packet answers.
    CloseAtOnce {
        /// Error code, below 2^62.
        code: u64,
        /// Reason phrase, at most 1000 bytes.
        reason: String,
    },
}

/// ICMP messages of type 3 (RFC 792, RFC 1812 section 5.2.7.1), or of type 1 for IPv6 (RFC 4443 section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// No route: network unreachable.
    Network,
    /// Host unreachable; address unreachable for IPv6.
    Host,
    /// Port unreachable, by the host itself.
    Port,
    /// Communication administratively prohibited.
    Prohibited,
}

/// What is no handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rubbish {
    /// Random bytes, 1 to 1200 of them.
    Bytes,
    /// A long header of the client's version with its connection IDs exchanged, and random bytes behind it.
    LongHeader,
    /// An Initial packet for a connection ID that the client does not have.
    WrongConnectionId,
    /// An Initial packet that is genuine, with an acknowledgment and a CRYPTO frame of random bytes.
    Crypto,
    /// A genuine Initial packet, with a CRYPTO frame at the highest offset that there is.
    FarCrypto,
    /// A genuine Initial packet with a frame of a type that does not exist.
    UnknownFrame,
}

impl Behaviour {
    /// Short stable word, for the truth.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Serve { .. } => "serve",
            Self::LateCertificate { .. } => "late_certificate",
            Self::Silent => "silent",
            Self::Icmp(Unreachable::Network) => "icmp_network_unreachable",
            Self::Icmp(Unreachable::Host) => "icmp_host_unreachable",
            Self::Icmp(Unreachable::Port) => "icmp_port_unreachable",
            Self::Icmp(Unreachable::Prohibited) => "icmp_prohibited",
            Self::IcmpAboutOthers { .. } => "icmp_about_others",
            Self::Rubbish(Rubbish::Bytes) => "rubbish_bytes",
            Self::Rubbish(Rubbish::LongHeader) => "rubbish_long_header",
            Self::Rubbish(Rubbish::WrongConnectionId) => "rubbish_wrong_connection_id",
            Self::Rubbish(Rubbish::Crypto) => "rubbish_crypto",
            Self::Rubbish(Rubbish::FarCrypto) => "rubbish_far_crypto",
            Self::Rubbish(Rubbish::UnknownFrame) => "rubbish_unknown_frame",
            Self::VersionNegotiation { .. } => "version_negotiation",
            Self::RetryForEver => "retry_for_ever",
            Self::AckOnly => "ack_only",
            Self::FromAnotherAddress { .. } => "from_another_address",
            Self::Amplifier { .. } => "amplifier",
            Self::Trickle { .. } => "trickle",
            Self::Flood { .. } => "flood",
            Self::CloseAtOnce { .. } => "close_at_once",
        }
    }

    /// The real server behind it, if any.
    pub fn server(&self) -> Option<&str> {
        match self {
            Self::Serve { server }
            | Self::LateCertificate { server, .. }
            | Self::FromAnotherAddress { server, .. }
            | Self::Amplifier { server, .. }
            | Self::Trickle { server, .. } => Some(server),
            Self::VersionNegotiation { server, .. } => server.as_deref(),
            _ => None,
        }
    }
}
