//! What a connection carries: HTTP/3, or HTTP/0.9 as the QUIC Interop Runner uses it (ALPN `hq-interop`), or [`crate::perf`].

use anyhow::Result;
use quiche::h3;

use quiclab_contract::{Http as HttpVersion, TestCase, hq, perf};

use crate::settings::Settings;

/// What requests and answers are carried by.
pub enum Http {
    H3(Box<h3::Connection>),
    /// Streams are used as they are.
    Hq,
}

impl Http {
    /// The application protocols to offer or to take: one.
    pub fn protocols(settings: &Settings) -> &'static [&'static [u8]] {
        match (settings.test_case, settings.http) {
            (TestCase::Perf, _) => &[perf::ALPN],
            (_, HttpVersion::H3) => quiche::h3::APPLICATION_PROTOCOL,
            (_, HttpVersion::Hq) => &[hq::ALPN],
        }
    }

    /// Starts HTTP on a connection that can carry application data.
    ///
    /// # Errors
    /// Where HTTP/3 cannot open its streams.
    pub fn start(settings: &Settings, quic: &mut quiche::Connection) -> Result<Self> {
        Ok(match (settings.test_case, settings.http) {
            (TestCase::Perf, _) | (_, HttpVersion::Hq) => Self::Hq,
            (_, HttpVersion::H3) => Self::H3(Box::new(h3::Connection::with_transport(quic, &h3::Config::new()?)?)),
        })
    }
}
