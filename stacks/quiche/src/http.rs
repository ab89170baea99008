//! The two HTTP mappings on a connection: HTTP/3, or HTTP/0.9 as the QUIC Interop Runner uses it (ALPN `hq-interop`).

use anyhow::Result;
use quiche::h3;

use quiclab_contract::{Http as HttpVersion, hq};

/// What requests and answers are carried by.
pub enum Http {
    H3(Box<h3::Connection>),
    /// Streams are used as they are.
    Hq,
}

impl Http {
    /// The application protocols to offer or to take: one.
    pub fn protocols(version: HttpVersion) -> &'static [&'static [u8]] {
        match version {
            HttpVersion::H3 => quiche::h3::APPLICATION_PROTOCOL,
            HttpVersion::Hq => &[hq::ALPN],
        }
    }

    /// Starts HTTP on a connection that can carry application data.
    ///
    /// # Errors
    /// Where HTTP/3 cannot open its streams.
    pub fn start(version: HttpVersion, quic: &mut quiche::Connection) -> Result<Self> {
        Ok(match version {
            HttpVersion::H3 => Self::H3(Box::new(h3::Connection::with_transport(quic, &h3::Config::new()?)?)),
            HttpVersion::Hq => Self::Hq,
        })
    }
}
