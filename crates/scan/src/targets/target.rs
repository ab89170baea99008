//! Who is asked.

use std::net::IpAddr;

use crate::targets::name::Name;

/// The port of QUIC where a target names none.
pub const DEFAULT_PORT: u16 = 443;

/// One line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Line of the list, counted from 1.
    pub line: u64,
    /// Position in a ranking, if the line has one.
    pub rank: Option<u64>,
    /// Who is asked.
    pub host: Host,
    /// UDP port; `None`: the line has none, [`DEFAULT_PORT`] is meant.
    pub port: Option<u16>,
}

/// A name, an address, or both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// A name to resolve.
    Name(Name),
    /// An address to ask without a name.
    Address(IpAddr),
    /// An address to ask for a name; nothing is resolved.
    Both(Name, IpAddr),
}

impl Host {
    /// The name for SNI (RFC 6066 section 3), if there is one.
    pub fn name(&self) -> Option<&Name> {
        match self {
            Self::Name(name) | Self::Both(name, _) => Some(name),
            Self::Address(_) => None,
        }
    }

    /// The address that the list gives, IPv4-mapped ones as IPv4. `None`: the name has to be resolved.
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Address(address) | Self::Both(_, address) => Some(*address),
            Self::Name(_) => None,
        }
    }
}

impl Target {
    /// The UDP port to ask.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(DEFAULT_PORT)
    }
}
