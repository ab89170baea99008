//! Names to addresses, by a resolver that is named.
//!
//! [`Resolver`] has neither socket nor clock: what to send comes out of it, what arrived goes into it. [`Client`] is the same with
//! one UDP socket, and TCP for answers that UDP cuts off.

mod client;
mod core;
mod message;
mod stream;

use std::net::IpAddr;

use quiclab_units::Duration;
use serde::Serialize;

use crate::targets::name::Name;

pub use self::core::{Resolver, Transmit};
pub use client::Client;

/// How a resolver is asked.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How often a query is sent at most.
    pub tries: u32,
    /// How long an answer to one try may take.
    pub timeout: Duration,
    /// Queries that wait for an answer at the same time, at most 4096. A name is one for each kind.
    pub most_in_flight: usize,
    /// Whether A records are asked for.
    pub v4: bool,
    /// Whether AAAA records are.
    pub v6: bool,
    /// Whether HTTPS records are (RFC 9460).
    pub https: bool,
}

impl Default for Settings {
    /// Three tries of two seconds, 200 in flight, both kinds of addresses.
    fn default() -> Self {
        Self { tries: 3, timeout: Duration::from_secs(2), most_in_flight: 200, v4: true, v6: true, https: false }
    }
}

/// What a query asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// IPv4 addresses (RFC 1035).
    A,
    /// IPv6 addresses (RFC 3596).
    Aaaa,
    /// How a service is reached (RFC 9460).
    Https,
}

/// Why a query has no records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// RCODE 3 (RFC 1035 section 4.1.1).
    #[error("the name does not exist")]
    Nxdomain,
    /// The name exists and has no such record, nor does the name that it is an alias of.
    #[error("the name has no address")]
    NoAddress,
    /// No answer to any try.
    #[error("the resolver did not answer")]
    TimedOut,
    /// RCODE 5.
    #[error("the resolver refused")]
    Refused,
    /// Any other RCODE.
    #[error("the resolver failed")]
    ServerFailure,
    /// An answer to this very question that cannot be read, or whose aliases go in a circle.
    #[error("the answer is malformed")]
    Malformed,
    /// The answer does not fit a datagram, and there was none over TCP.
    #[error("the answer was cut off, and TCP gave none")]
    Truncated,
}

impl Failure {
    /// Its name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nxdomain => "nxdomain",
            Self::NoAddress => "no_address",
            Self::TimedOut => "timed_out",
            Self::Refused => "refused",
            Self::ServerFailure => "server_failure",
            Self::Malformed => "malformed",
            Self::Truncated => "truncated",
        }
    }
}

/// An HTTPS record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpsRecord {
    /// 0: an alias, which is not followed (RFC 9460 section 2.4.2). Else the lowest is tried first.
    pub priority: u16,
    /// Where the service is; `None`: at the name itself, or nowhere if it is an alias.
    pub target: Option<Name>,
    /// UDP port; `None`: that of the URL.
    pub port: Option<u16>,
    /// Protocols besides the default one, such as `h3`.
    pub alpn: Vec<Vec<u8>>,
    /// `ipv4hint` and `ipv6hint`, in this order.
    pub hints: Vec<IpAddr>,
    /// False: the record demands to understand what this crate does not (RFC 9460 section 8), so it is not to be used.
    pub is_understood: bool,
}

/// What became of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What [`Resolver::ask`] gave.
    pub lookup: u64,
    /// Who was asked for.
    pub name: Name,
    /// A records, then AAAA records, in the order of the answers, each once. IPv4-mapped ones are IPv4.
    pub addresses: Vec<IpAddr>,
    /// HTTPS records, in the order of the answer.
    pub https: Vec<HttpsRecord>,
    /// Queries that failed. One for HTTPS whose answer has none did not.
    pub failures: Vec<(Kind, Failure)>,
}

impl Answer {
    /// The addresses.
    ///
    /// # Errors
    /// When there is none: the failure that says most. A name that does not exist is one whatever the other query gave; that there is no
    /// address is known only if both queries say so.
    pub fn result(&self) -> Result<&[IpAddr], Failure> {
        if !self.addresses.is_empty() {
            return Ok(&self.addresses);
        }
        let of_addresses = self.failures.iter().filter(|(kind, _)| *kind != Kind::Https).map(|(_, failure)| *failure);
        let says_most = |failure: &Failure| match failure {
            Failure::Nxdomain => 0,
            Failure::NoAddress => 2,
            _ => 1,
        };
        Err(of_addresses.min_by_key(says_most).unwrap_or(Failure::NoAddress))
    }
}
