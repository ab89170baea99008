//! What a test asks of its ends.

use serde::Serialize;

use crate::Direction;

/// A load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Bytes, as many as pass.
    Bulk(Direction),
    /// Bytes in both directions at the same time.
    Bidirectional,
    /// Requests and responses, one after the other.
    Requests(Sizes),
    /// Handshakes, one after the other.
    Handshakes,
}

/// Bytes of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sizes {
    /// Bytes of a request, from the client.
    pub request_bytes: u64,
    /// Bytes of a response, from the server.
    pub response_bytes: u64,
}

impl Load {
    /// Name of the load in the endpoint contract. `None`: it is what an endpoint does that is asked for nothing.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Bulk(_) => None,
            Self::Bidirectional => Some("bidirectional"),
            Self::Requests(_) => Some("requests"),
            Self::Handshakes => Some("handshakes"),
        }
    }

    /// Where bytes go. For requests and handshakes that of what begins them.
    pub fn directions(self) -> &'static [Direction] {
        match self {
            Self::Bulk(Direction::ServerSends) => &[Direction::ServerSends],
            Self::Bidirectional => &[Direction::ClientSends, Direction::ServerSends],
            Self::Bulk(Direction::ClientSends) | Self::Requests(_) | Self::Handshakes => &[Direction::ClientSends],
        }
    }

    /// What is counted, in the singular; `None`: bytes are.
    pub fn counted(self) -> Option<&'static str> {
        match self {
            Self::Bulk(_) | Self::Bidirectional => None,
            Self::Requests(_) => Some("request"),
            Self::Handshakes => Some("handshake"),
        }
    }
}
