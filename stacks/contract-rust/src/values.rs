//! The values that settings can have.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::perf::Load;

/// Which end of the connection an endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Answers.
    Server,
    /// Asks.
    Client,
}

impl Role {
    /// As `ROLE` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// What is to happen; the contract says what each role does in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestCase {
    /// One small file.
    Handshake,
    /// All URLs over one connection.
    Transfer,
    /// The server answers the first Initial with a Retry packet.
    Retry,
    /// The client offers TLS_CHACHA20_POLY1305_SHA256 only.
    ChaCha20,
    /// The client updates its keys once.
    KeyUpdate,
    /// All requests but the first over a second connection, by the session of the first one.
    Resumption,
    /// The same, with the requests of the second connection as early data.
    ZeroRtt,
    /// QUIC version 2, by compatible negotiation.
    Version2,
    /// [`Self::Transfer`], always with HTTP/3.
    Http3,
    /// Numbers of bytes in both directions, by draft-banks-quic-performance: see [`crate::perf`].
    Perf,
}

impl TestCase {
    /// True where a session of one connection is used by another.
    pub fn takes_two_connections(self) -> bool {
        matches!(self, Self::Resumption | Self::ZeroRtt)
    }
}

/// How files are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    /// HTTP/0.9 over QUIC, as the QUIC Interop Runner uses it.
    Hq,
    /// HTTP/3.
    H3,
}

/// Generic segmentation offload of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gso {
    /// One packet in a system call.
    Off,
    /// The packets of one batch leave in one system call, cut apart by the kernel (UDP_SEGMENT).
    On,
    /// The same, and the kernel is told by which rate to space them.
    Paced,
}

impl Gso {
    /// True where many packets leave in one system call.
    pub fn is_on(self) -> bool {
        self != Self::Off
    }
}

/// How the kernel is told the rate of a batch with [`Gso::Paced`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GsoRate {
    /// As its mark (SO_MARK), in bytes of UDP payload per second.
    Mark,
    /// By a control message of its own (UDP_SEGMENT_PACING_RATE), which only a patched kernel knows.
    Message,
}

/// The clock of send times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// CLOCK_MONOTONIC.
    Monotonic,
    /// CLOCK_TAI: send times must lie in the future, and none before that of an earlier packet.
    Tai,
}

/// Who spaces the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// No one.
    Off,
    /// The stack, which waits by itself.
    User,
    /// The kernel's queueing discipline, by the send times that the stack plans (SO_TXTIME).
    TxTime,
}

/// The family of the addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl IpVersion {
    /// The address that stands for all of the family.
    pub fn unspecified(self) -> IpAddr {
        match self {
            Self::V4 => Ipv4Addr::UNSPECIFIED.into(),
            Self::V6 => Ipv6Addr::UNSPECIFIED.into(),
        }
    }
}

/// A value with the name it has in the environment.
pub(crate) trait Named: Copy {
    fn name(self) -> &'static str;
}

impl Named for Load {
    fn name(self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::Bidirectional => "bidirectional",
            Self::Requests => "requests",
            Self::Periodic => "periodic",
            Self::Handshakes => "handshakes",
        }
    }
}

impl Named for TestCase {
    fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Transfer => "transfer",
            Self::Retry => "retry",
            Self::ChaCha20 => "chacha20",
            Self::KeyUpdate => "keyupdate",
            Self::Resumption => "resumption",
            Self::ZeroRtt => "zerortt",
            Self::Version2 => "v2",
            Self::Http3 => "http3",
            Self::Perf => "perf",
        }
    }
}

impl Named for Http {
    fn name(self) -> &'static str {
        match self {
            Self::Hq => "hq",
            Self::H3 => "h3",
        }
    }
}

impl Named for Pacing {
    fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::User => "user",
            Self::TxTime => "txtime",
        }
    }
}

impl Named for IpVersion {
    fn name(self) -> &'static str {
        match self {
            Self::V4 => "4",
            Self::V6 => "6",
        }
    }
}

impl Named for Gso {
    fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Paced => "paced",
        }
    }
}

impl Named for GsoRate {
    fn name(self) -> &'static str {
        match self {
            Self::Mark => "mark",
            Self::Message => "message",
        }
    }
}

impl Named for Clock {
    fn name(self) -> &'static str {
        match self {
            Self::Monotonic => "monotonic",
            Self::Tai => "tai",
        }
    }
}

impl Named for bool {
    fn name(self) -> &'static str {
        if self { "on" } else { "off" }
    }
}

impl<C: Copy> Named for (&'static str, C) {
    fn name(self) -> &'static str {
        self.0
    }
}
