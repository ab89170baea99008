//! One exclusion.

use std::{fmt, net::IpAddr};

use ipnet::{IpNet, Ipv4Net};

use crate::targets::{
    line::quoted,
    name::{Name, is_autonomous_system},
};

/// What an entry that names an autonomous system should be.
pub(super) const NO_SYSTEM: &str = "prefixes: an AS number is not looked up";

/// Who is excluded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entry {
    /// All addresses of a prefix.
    Prefix(IpNet),
    /// A name and all names below it.
    Name(Name),
}

/// A text that is no exclusion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found {found}, expected {expected}")]
pub struct BadEntry {
    /// What it has, escaped and shortened.
    pub found: String,
    /// What it should have.
    pub expected: &'static str,
}

impl Entry {
    /// Reads a prefix, an address or a name. `*.` before a name is allowed, and says the same as the name alone.
    ///
    /// # Errors
    /// When it is none of these, or a prefix has bits beyond its length: what was meant is not clear then. When it is an AS number, which
    /// would exclude nobody as a name.
    pub fn parse(text: &str) -> Result<Self, BadEntry> {
        let bad = |expected| Err(BadEntry { found: quoted(text), expected });
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::Prefix(IpNet::from(address.to_canonical())));
        }
        if text.contains('/') {
            return match text.parse::<IpNet>() {
                Ok(prefix) if prefix.trunc() != prefix => bad("a prefix without bits beyond its length"),
                Ok(prefix) => Ok(Self::Prefix(unmapped(prefix))),
                Err(_) => bad("a prefix as in 198.18.0.0/15 or 2001:db8::/32"),
            };
        }
        let name = text.strip_prefix("*.").unwrap_or(text);
        if is_autonomous_system(name) {
            return bad(NO_SYSTEM);
        }
        match Name::parse(name) {
            Ok(name) => Ok(Self::Name(name)),
            Err(_) => bad("a prefix, an address or a name"),
        }
    }
}

/// A prefix of IPv4-mapped addresses (RFC 4291 section 2.5.5.2) as one of IPv4.
fn unmapped(prefix: IpNet) -> IpNet {
    let (IpNet::V6(v6), Some(length)) = (prefix, prefix.prefix_len().checked_sub(96)) else { return prefix };
    let mapped = v6.addr().to_ipv4_mapped().and_then(|v4| Ipv4Net::new(v4, length).ok());
    mapped.map_or(prefix, IpNet::V4)
}

impl fmt::Display for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(prefix) => prefix.fmt(formatter),
            Self::Name(name) => name.fmt(formatter),
        }
    }
}
