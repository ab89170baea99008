//! One row per captured UDP datagram or TCP segment.

use std::net::SocketAddr;

use quiclab_units::Time;

use crate::tls::TlsRecords;

/// One captured UDP datagram or TCP segment, from its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When the tap saw it, since the Unix epoch (or whatever epoch the capturing clock had).
    pub time: Time,
    /// Index into [`Capture::interfaces`](crate::Capture::interfaces).
    pub interface: u32,
    /// Length of the frame on the wire in bytes, link header included, frame check sequence left out.
    pub frame_length: u32,
    /// Bytes of the frame that the capture kept. Smaller than `frame_length` where a snap length cut it.
    pub captured_length: u32,
    /// Sender's address and port.
    pub source: SocketAddr,
    /// Receiver's address and port.
    pub destination: SocketAddr,
    /// Bytes behind the UDP or TCP header on the wire, from the length fields of the headers, so also right when the
    /// capture cut the payload off.
    pub payload_length: u32,
    /// What the transport header shows.
    pub protocol: Protocol,
}

/// What the transport header shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// A UDP datagram. What it holds, [`Dissector`](crate::Dissector) says.
    Udp,
    /// A TCP segment.
    Tcp(TcpSegment),
}

/// A TCP segment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSegment {
    /// Sequence number of the first payload byte (or of SYN), RFC 9293 section 3.1.
    pub sequence_number: u32,
    /// Acknowledgment number; meaningful only with [`TcpFlags::ack`].
    pub acknowledgment_number: u32,
    /// The control bits.
    pub flags: TcpFlags,
    /// TLS records that begin in this segment, as far as bytes were captured. `None` when the payload is empty or not
    /// captured, or does not begin with a record (the middle of a longer record looks like anything).
    pub tls: Option<TlsRecords>,
}

/// The TCP control bits of RFC 9293 section 3.1 that matter for measuring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags {
    /// Synchronize sequence numbers.
    pub syn: bool,
    /// The acknowledgment field is significant.
    pub ack: bool,
    /// No more data from the sender.
    pub fin: bool,
    /// Reset the connection.
    pub rst: bool,
    /// Push.
    pub psh: bool,
}

impl Packet {
    /// Whether this is a TCP segment.
    pub fn is_tcp(&self) -> bool {
        matches!(self.protocol, Protocol::Tcp(_))
    }

    /// The TCP header; `None` for UDP.
    pub fn tcp(&self) -> Option<TcpSegment> {
        match self.protocol {
            Protocol::Udp => None,
            Protocol::Tcp(segment) => Some(segment),
        }
    }
}
