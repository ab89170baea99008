//! Who sent a packet.

use serde::{Deserialize, Serialize};

/// Who sent a packet. The client is the one that opened the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Role {
    /// The one that opened the connection.
    Client = 0,
    /// The one that was listening.
    Server = 1,
}

impl Role {
    /// Both, client first.
    pub const BOTH: [Role; 2] = [Role::Client, Role::Server];

    /// The other one.
    pub fn peer(self) -> Role {
        match self {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        }
    }

    /// `client` or `server`.
    pub fn name(self) -> &'static str {
        match self {
            Role::Client => "client",
            Role::Server => "server",
        }
    }
}
