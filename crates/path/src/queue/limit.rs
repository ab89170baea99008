//! How much a queue holds.

use crate::backlog::Backlog;

/// How much a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// It holds so many packets.
    Packets(u64),
    /// It holds so many bytes.
    Bytes(u64),
}

impl Limit {
    /// True where one more packet of `bytes` bytes fits beside what waits.
    pub fn has_room(self, waiting: Backlog, bytes: u32) -> bool {
        match self {
            Self::Packets(most) => waiting.packets < most,
            Self::Bytes(most) => waiting.bytes + u64::from(bytes) <= most,
        }
    }
}
