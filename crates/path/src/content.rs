//! What a datagram holds, as plain data: what rules that lose packets by their meaning look at.
//!
//! Nothing here reads packets. `quiclab-content` fills a [`Content`] from the bytes of a datagram, before the datagram enters a path; the rules
//! of [`rule`] are asked about it by the stage [`crate::loss::content`]. Offsets and lengths are in bytes; counts begin with 1.

mod data;
mod describe;
pub mod rule;

pub use data::{Data, DataKind, NotData};
pub use describe::data_of_words;

use crate::edits::Translation;

/// What travels can say what it holds.
pub trait Payload: Clone + 'static {
    /// What it holds; `None` where nobody has looked. A rule that asks for the content then does not match.
    fn content(&self) -> Option<&Content> {
        None
    }

    /// Bytes of UDP payload, where one of them may become another; `None` where there is no UDP datagram or nobody holds its bytes.
    fn bytes_to_corrupt(&self) -> Option<u32> {
        None
    }

    /// Whether it is a control message of the network (ICMP), and no packet of a flow.
    fn is_control_message(&self) -> bool {
        false
    }

    /// What an address translator has to do with it.
    fn translation(&self) -> Translation {
        Translation::None
    }
}

impl Payload for () {}

/// One direction of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// The direction from the server to the client.
    ToClient,
    /// The direction from the client to the server.
    ToServer,
}

impl Direction {
    /// Name of the direction, as [`crate::spec::build::pipeline`] takes it: `to_client`, `to_server`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ToClient => "to_client",
            Self::ToServer => "to_server",
        }
    }

    /// Who sends in this direction: `server`, `client`.
    pub const fn sender(self) -> &'static str {
        match self {
            Self::ToClient => "server",
            Self::ToServer => "client",
        }
    }

    /// The other direction.
    pub const fn reverse(self) -> Self {
        match self {
            Self::ToClient => Self::ToServer,
            Self::ToServer => Self::ToClient,
        }
    }
}

/// What a UDP datagram holds, as far as it could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// Where it travels.
    pub direction: Direction,
    /// Which connection it belongs to, counted from 1 in the order of their first datagrams.
    pub connection: u32,
    /// Its place among the datagrams that this sender put on this connection, lost ones included.
    pub datagram: u64,
    /// The flight that it is part of.
    pub flight: Flight,
    /// The latest flight of its sender whose data it carries, for the first time or again; `None` where it carries none, or none was read.
    pub data_flight: Option<u32>,
    /// Whether it is a probe, and its place among the probes of this sender.
    pub probe: Probe,
    /// Its QUIC packets, in order.
    pub packets: Vec<ContentPacket>,
    /// Whether every byte of it belongs to one of `packets`, or is padding behind them. False where bytes were cut off, or are no QUIC.
    pub is_whole: bool,
}

/// The flight that a datagram is part of. `docs/reference/losses.md` defines flights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flight {
    /// It is part of one.
    Part {
        /// Which flight of its sender.
        number: u32,
        /// Its place in that flight.
        datagram: u64,
    },
    /// It holds nothing that its sender had not sent before: a retransmission or a probe.
    Repeat,
    /// Retry and Version Negotiation are part of none.
    Outside,
    /// A packet in it could not be read, so it is not known.
    Unknown,
}

/// Whether a datagram is a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// It is none.
    No,
    /// It is one.
    Number(u64),
    /// A packet in it could not be read, so it is not known.
    Unknown,
}

/// One QUIC packet of a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentPacket {
    /// Its form, which its header shows without keys.
    pub form: PacketForm,
    /// Its number; `None` where it has none, or header protection could not be removed.
    pub number: Option<u64>,
    /// Whether its frames could be read. Retry and Version Negotiation have none, which counts as read.
    pub is_read: bool,
    /// Its frames, in order; runs of PADDING are one.
    pub frames: Vec<ContentFrame>,
}

/// The form of a QUIC packet, which says its packet number space too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PacketForm {
    /// Initial.
    Initial,
    /// 0-RTT.
    ZeroRtt,
    /// Handshake.
    Handshake,
    /// 1-RTT, or a stateless reset, which looks the same.
    OneRtt,
    /// Retry.
    Retry,
    /// Version Negotiation.
    VersionNegotiation,
    /// A long header of a version that cannot be read.
    Unknown,
}

/// A frame, as far as rules ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentFrame {
    /// PADDING, any number in a row.
    Padding,
    /// PING
    Ping,
    /// ACK
    Ack {
        /// Largest packet number acknowledged.
        largest: u64,
    },
    /// CRYPTO
    Crypto {
        /// Offset of its first byte.
        offset: u64,
        /// Length of its data.
        length: u64,
    },
    /// STREAM
    Stream {
        /// Stream ID.
        id: u64,
        /// Offset of its first byte.
        offset: u64,
        /// Length of its data.
        length: u64,
        /// Whether the stream ends with it.
        fin: bool,
    },
    /// HANDSHAKE_DONE
    HandshakeDone,
    /// NEW_CONNECTION_ID
    NewConnectionId,
    /// CONNECTION_CLOSE, of either type.
    ConnectionClose,
    /// Any other frame, by its name in lower case, such as `max_data`.
    Other {
        /// The name.
        name: &'static str,
        /// Whether the peer has to acknowledge it (RFC 9002, section 2).
        is_ack_eliciting: bool,
    },
}

impl ContentFrame {
    /// Its name in lower case, as rules have it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Padding => "padding",
            Self::Ping => "ping",
            Self::Ack { .. } => "ack",
            Self::Crypto { .. } => "crypto",
            Self::Stream { .. } => "stream",
            Self::HandshakeDone => "handshake_done",
            Self::NewConnectionId => "new_connection_id",
            Self::ConnectionClose => "connection_close",
            Self::Other { name, .. } => name,
        }
    }

    /// Whether the peer has to acknowledge it (RFC 9002, section 2).
    pub const fn is_ack_eliciting(&self) -> bool {
        match self {
            Self::Padding | Self::Ack { .. } | Self::ConnectionClose => false,
            Self::Other { is_ack_eliciting, .. } => *is_ack_eliciting,
            _ => true,
        }
    }
}

impl PacketForm {
    /// Its name in rules and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::ZeroRtt => "0-rtt",
            Self::Handshake => "handshake",
            Self::OneRtt => "1-rtt",
            Self::Retry => "retry",
            Self::VersionNegotiation => "version_negotiation",
            Self::Unknown => "unknown",
        }
    }
}

impl Content {
    /// The CRYPTO and STREAM bytes that it carries, as far as it could be read.
    pub fn data(&self) -> impl Iterator<Item = Data> {
        self.packets.iter().flat_map(|packet| packet.frames.iter().filter_map(|frame| Data::of(packet.form, frame)))
    }

    /// Whether each packet of it was read, and every byte of it belongs to one.
    pub fn is_read(&self) -> bool {
        self.is_whole && self.packets.iter().all(|packet| packet.is_read)
    }
}
