//! What is known of a handshake besides numbers.

use quiclab_units::Duration;
use quiclab_wire::Role;
use serde::{Deserialize, Serialize};

use super::round_trips::{estimates, samples};
use super::view::{HandshakeTaps, Views};

/// Samples that are listed of each end.
const MOST_SAMPLES: usize = 50;

/// How a handshake was seen, and each end's estimate of the round-trip time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandshakeDetail {
    /// Where it was seen.
    pub taps: HandshakeTaps,
    /// Metrics that are not times of the end that they are about, but estimated from those at the tap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub estimated: Vec<String>,
    /// Metrics that are null because the tap is not known to be at the end that they are about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<String>,
    /// The client's samples of the round-trip time, the first 50.
    pub client_estimates: Vec<HandshakeEstimate>,
    /// The server's.
    pub server_estimates: Vec<HandshakeEstimate>,
}

/// What RFC 9002 makes of one sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandshakeEstimate {
    /// Time since the first datagram of the handshake at this end's tap, in ns.
    pub time_ns: u64,
    /// Packet number space of the acknowledgment: `initial`, `handshake`, `application`.
    pub space: String,
    /// The sample, without adjustment.
    pub latest_rtt_ns: u64,
    /// `smoothed_rtt` after it.
    pub smoothed_rtt_ns: u64,
    /// `rttvar` after it.
    pub rttvar_ns: u64,
    /// The probe timeout after it, without back-off and without the peer's `max_ack_delay`.
    pub pto_ns: u64,
}

impl HandshakeDetail {
    pub(super) fn of(views: &Views, estimated: Vec<String>, elsewhere: Vec<String>) -> Self {
        HandshakeDetail {
            taps: views.taps,
            estimated,
            elsewhere,
            client_estimates: list(views, Role::Client),
            server_estimates: list(views, Role::Server),
        }
    }
}

fn list(views: &Views, side: Role) -> Vec<HandshakeEstimate> {
    const SPACES: [&str; 3] = ["initial", "handshake", "application"];
    let view = views.of(side);
    let samples = samples(view);
    let (Some(first), Some(missing)) = (view.events.first(), view.way_and_back) else { return Vec::new() };
    if samples.hidden_before > 0 {
        return Vec::new();
    }
    let after_each = estimates(&samples.list, missing);
    let nanoseconds = |value: Option<Duration>| value.map_or(0, Duration::as_nanos);
    let entry = |(sample, estimate): &(super::round_trips::Sample, crate::RttEstimate)| HandshakeEstimate {
        time_ns: sample.time.checked_since(first.time).map_or(0, Duration::as_nanos),
        space: SPACES[usize::from(sample.space.min(2))].to_owned(),
        latest_rtt_ns: sample.rtt.as_nanos(),
        smoothed_rtt_ns: nanoseconds(estimate.smoothed()),
        rttvar_ns: nanoseconds(estimate.variation()),
        pto_ns: estimate.pto(Duration::ZERO).as_nanos(),
    };
    after_each.iter().take(MOST_SAMPLES).map(entry).collect()
}
