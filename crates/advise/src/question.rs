//! What is asked.

use std::fmt;

use quiclab_metrics::INITIAL_RTT;
use quiclab_units::{ByteCount, Duration, Rate};
use serde::Serialize;

/// A handshake to play.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Round-trip time between client and server; more than 0.
    pub rtt: Duration,
    /// Time from the ClientHello's arrival until the server can answer it: fetching the certificate, signing.
    pub delay: Duration,
    /// Length of the certificate chain: the DER certificates of the Certificate message.
    pub certificate: ByteCount,
    /// Probe timeout of the client before it has a sample.
    pub client_pto: Duration,
    /// Probe timeout of the server before it has a sample.
    pub server_pto: Duration,
    /// Datagrams of 1200 B that the ClientHello takes; 2 with ML-KEM. At least 1.
    pub hello_datagrams: u32,
    /// Whether the server repeats its flight once, without waiting for its timeout, when the client repeats a part of its ClientHello (RFC 9002,
    /// section 6.2.3).
    pub repeats_flight: bool,
    /// Rate of both directions; `None`: datagrams take no time.
    pub rate: Option<Rate>,
}

/// Three times `kInitialRtt`: the probe timeout before the first sample (RFC 9002, section 6.2.2).
const DEFAULT_PTO: Duration = Duration::from_nanos(INITIAL_RTT.as_nanos() * 3);

impl Question {
    /// A handshake with the timeouts of RFC 9002, a ClientHello of one datagram, and a server that repeats its flight early, as ngtcp2 and
    /// quic-go do.
    pub fn new(rtt: Duration, delay: Duration, certificate: ByteCount) -> Self {
        Self {
            rtt,
            delay,
            certificate,
            client_pto: DEFAULT_PTO,
            server_pto: DEFAULT_PTO,
            hello_datagrams: 1,
            repeats_flight: true,
            rate: None,
        }
    }

    /// What cannot be played.
    ///
    /// # Errors
    /// The value, and what is possible.
    pub fn check(&self) -> Result<(), QuestionError> {
        let most = Duration::from_secs(60);
        let is_time = |time: Duration| time > Duration::ZERO && time <= most;
        for (name, time) in [("rtt", self.rtt), ("client_pto", self.client_pto), ("server_pto", self.server_pto)] {
            if !is_time(time) {
                return Err(QuestionError(format!("{name}: found {time}, expected more than 0 and at most {most}")));
            }
        }
        if self.delay > most {
            return Err(QuestionError(format!("delay: found {}, expected at most {most}", self.delay)));
        }
        if !(1..=4).contains(&self.hello_datagrams) {
            return Err(QuestionError(format!("hello_datagrams: found {}, expected 1 to 4", self.hello_datagrams)));
        }
        let largest = ByteCount::from_bytes(1 << 20);
        if self.certificate > largest {
            return Err(QuestionError(format!("certificate: found {}, expected at most {largest}", self.certificate)));
        }
        Ok(())
    }
}

/// A question that cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionError(String);

impl fmt::Display for QuestionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for QuestionError {}

/// What the server does until it has its certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstAck {
    /// Nothing: its first datagram has the acknowledgment and the ServerHello.
    Wait,
    /// The server acknowledges at once, in a datagram of its own.
    Instant,
    /// The server acknowledges at once, in a datagram padded to 1200 B.
    Padded,
}

impl FirstAck {
    /// Name of the behaviour.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Instant => "instant",
            Self::Padded => "padded",
        }
    }
}

/// What the path loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// Nothing.
    None,
    /// What the server sends of its first flight for the first time, except its first datagram.
    ServerFlightRest,
    /// What the client answers to the ServerHello, up to its first request, once.
    ClientSecondFlight,
}

impl Loss {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::ServerFlightRest, Self::ClientSecondFlight];

    /// The loss in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::None => "no loss",
            Self::ServerFlightRest => "rest of the server's first flight lost",
            Self::ClientSecondFlight => "client's second flight lost",
        }
    }
}

/// A client and its probe timeout before the first sample, as ReACKed QUICer (table 4) found it in 2024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedClient {
    /// Name of the client.
    pub name: &'static str,
    /// The timeout.
    pub default_pto: Duration,
}

const fn client(name: &'static str, milliseconds: u64) -> NamedClient {
    NamedClient { name, default_pto: Duration::from_millis(milliseconds) }
}

/// Clients of the study.
pub const QUIC_CLIENTS: [NamedClient; 8] = [
    client("aioquic", 200),
    client("go-x-net", 999),
    client("mvfst", 100),
    client("neqo", 300),
    client("ngtcp2", 300),
    client("picoquic", 250),
    client("quic-go", 200),
    client("quiche", 999),
];
