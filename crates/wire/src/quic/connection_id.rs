//! Connection IDs as values.

use std::fmt;

/// Longest connection ID in versions 1 and 2, RFC 9000 section 17.2.
pub const MAXIMUM_CONNECTION_ID_BYTES: usize = 20;

/// A connection ID of 0 to 20 bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    length: u8,
    bytes: [u8; MAXIMUM_CONNECTION_ID_BYTES],
}

impl ConnectionId {
    /// `None` when there are more than 20 bytes.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut id = ConnectionId { length: u8::try_from(bytes.len()).ok()?, ..ConnectionId::default() };
        id.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(id)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Whether it has no bytes: the address alone tells the connection.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
