//! Settings of `quiclab advise`.

use std::{fmt, path::PathBuf};

use quiclab_advise::{FirstAck, Losses};
use quiclab_units::{ByteCount, Duration, Rate};

/// A question.
#[derive(Clone, Debug)]
pub enum AdviseSettings {
    /// Should a server send an instant ACK?
    InstantAck(InstantAckSettings),
    /// Does the model agree with measured handshakes?
    Check(AdviseCheckSettings),
    /// How do RTT samples change the probe timeout?
    Pto(PtoSettings),
}

/// Handshakes that are computed, with and without an instant ACK.
#[derive(Clone, Debug)]
pub struct InstantAckSettings {
    /// Round-trip times.
    pub rtts: Vec<Duration>,
    /// Times from the ClientHello's arrival until the server can answer.
    pub delays: Vec<Duration>,
    /// Lengths of certificate chains.
    pub certificates: Vec<ByteCount>,
    /// A Parquet file with round-trip times and delays, instead of the first two.
    pub samples: Option<PathBuf>,
    /// Shares of handshakes in which a flight is lost.
    pub losses: Losses,
    /// The form of the instant ACK.
    pub kind: FirstAck,
    /// Probe timeout of the server before it has an RTT sample.
    pub server_pto: Duration,
    /// The same of the client; `None`: that of RFC 9002.
    pub client_pto: Option<Duration>,
    /// Datagrams that the ClientHello takes.
    pub hello_datagrams: u32,
    /// The server repeats its flight when the client repeats its ClientHello.
    pub repeats_flight: bool,
    /// File of a picture.
    pub svg: Option<PathBuf>,
    /// Rate of both directions; `None`: datagrams take no time.
    pub rate: Option<Rate>,
    /// JSON is printed instead of tables.
    pub json: bool,
}

/// Measured handshakes that the model is compared with.
#[derive(Clone, Debug)]
pub struct AdviseCheckSettings {
    /// Folders of results.
    pub folders: Vec<PathBuf>,
    /// Gains below it do not count.
    pub margin: Duration,
    /// The part of the margin that grows with the round-trip time, in round trips.
    pub margin_rtts: f64,
    /// Share of the other points whose signs must agree.
    pub at_least: f64,
    /// The server repeats its flight when the client repeats its ClientHello.
    pub repeats_flight: bool,
    /// JSON is printed instead of tables.
    pub json: bool,
}

/// Sequences of RTT samples, each from the beginning.
#[derive(Clone, Debug)]
pub struct PtoSettings {
    /// The sequences; there is at least one.
    pub sequences: Vec<Vec<RttSamples>>,
    /// File of a picture.
    pub svg: Option<PathBuf>,
    /// Round-trip time that is assumed before the first sample.
    pub initial_rtt: Duration,
    /// `max_ack_delay` of the peer; `None`: the timeout is that of Initial and Handshake packets, and every delay is believed.
    pub max_ack_delay: Option<Duration>,
    /// JSON is printed instead of tables.
    pub json: bool,
}

/// A sample, and how many of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSamples {
    /// Number of repetitions.
    pub count: u32,
    /// The sample.
    pub rtt: Duration,
    /// The acknowledgment delay that the peer reports.
    pub ack_delay: Duration,
}

impl fmt::Display for RttSamples {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.count > 1 {
            write!(f, "{}x", self.count)?;
        }
        write!(f, "{}", self.rtt.to_string().replace(' ', ""))?;
        if self.ack_delay > Duration::ZERO {
            write!(f, "/{}", self.ack_delay.to_string().replace(' ', ""))?;
        }
        Ok(())
    }
}
