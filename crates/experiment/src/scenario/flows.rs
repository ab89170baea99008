//! How the flows of a group send, and what.

use quiclab_units::{ByteCount, Duration};
use serde::{Deserialize, Serialize};

use crate::reading::{
    at_least_one, between, count, delay, expected, or_default, or_none, packet_bytes, positive, put, quantity, truth,
    word,
};

use super::declaration::Setting;

/// The settings of a group of flows. Unlike in plans of transfers, nothing here is left to a stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flows {
    /// Number of flows in the group.
    pub count: u32,
    /// Round-trip time without queues.
    #[serde(with = "crate::quantity")]
    pub rtt: Duration,
    /// The algorithm that decides how many segments are in flight.
    pub congestion_control: CongestionControl,
    /// Whether slow start may end by HyStart++ (RFC 9406).
    pub hystart: bool,
    /// Whether queues may mark packets instead of dropping them (RFC 3168).
    #[serde(default)]
    pub ecn: bool,
    /// The way in which losses are repaired.
    pub recovery: Recovery,
    /// Whether segments carry timestamps; `None` only with [`Recovery::Sack`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Whether packets are spaced.
    pub pacing: FlowsPacing,
    /// Windows that leave in a round-trip time.
    pub pacing_gain: f64,
    /// Packets that may leave at once after a pause.
    pub pacing_burst: u32,
    /// Window at the beginning, in segments.
    pub initial_window: f64,
    /// The largest window that receivers offer, in segments; `None` never holds a sender back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_window: Option<f64>,
    /// Length of a packet with a full segment.
    #[serde(with = "crate::quantity")]
    pub packet: ByteCount,
    /// Length of an acknowledgment.
    #[serde(with = "crate::quantity")]
    pub acknowledgment: ByteCount,
    /// Longest wait for a second segment before one is acknowledged; 0 waits for none.
    #[serde(with = "crate::quantity")]
    pub delayed_acknowledgment: Duration,
    /// Time from the start of the run in which each flow begins at random.
    #[serde(with = "crate::quantity")]
    pub begin_within: Duration,
    /// The workload of each flow.
    pub workload: WorkloadKind,
    /// Segments of each transfer.
    pub transfer_segments: u32,
    /// Number of transfers of each flow; `None` goes on until the run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<u32>,
    /// Mean of the pause between transfers.
    #[serde(with = "crate::quantity")]
    pub think: Duration,
    /// Mean of the time in which an on-off source sends.
    #[serde(with = "crate::quantity")]
    pub on: Duration,
    /// Mean of the time in which an on-off source is silent.
    #[serde(with = "crate::quantity")]
    pub off: Duration,
    /// When transfers of a trace begin, and their segments.
    pub arrivals: Vec<Arrival>,
    /// The first bottleneck that is crossed, from 1.
    pub first_hop: u32,
    /// The last one; `None` is the last that there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_hop: Option<u32>,
}

/// A transfer of a trace: when it begins, and its segments.
pub type Arrival = (ArrivalTime, u64);

/// A time in a list, as its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArrivalTime(#[serde(with = "crate::quantity")] pub Duration);

/// A model of congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CongestionControl {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
    /// Version 1, draft-cardwell-iccrg-bbr-congestion-control-00.
    Bbr,
    /// Version 3, draft-ietf-ccwg-bbr-06.
    Bbr3,
}

/// How losses are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// RFC 5681.
    Reno,
    /// RFC 6582.
    NewReno,
    /// Recovery by selective acknowledgments, RFC 6675.
    Sack,
}

/// Whether packets are spaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowsPacing {
    /// Packets leave as acknowledgments let them.
    Off,
    /// Packets are spread over the round-trip time.
    Rtt,
}

/// What the application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadKind {
    /// The application sends without end.
    Long,
    /// Transfers of one length, each after an exponential pause.
    Transfers,
    /// The application sends for an exponential time and is silent for another.
    OnOff,
    /// Transfers by a list.
    Arrivals,
}

impl Default for Flows {
    fn default() -> Self {
        Self {
            count: 1,
            rtt: Duration::from_millis(100),
            congestion_control: CongestionControl::Cubic,
            hystart: false,
            ecn: false,
            recovery: Recovery::Sack,
            timestamps: None,
            pacing: FlowsPacing::Off,
            pacing_gain: 1.0,
            pacing_burst: 1,
            initial_window: 10.0,
            largest_window: None,
            packet: ByteCount::from_bytes(1500),
            acknowledgment: ByteCount::from_bytes(40),
            delayed_acknowledgment: Duration::ZERO,
            begin_within: Duration::from_millis(100),
            workload: WorkloadKind::Long,
            transfer_segments: 100,
            transfers: None,
            think: Duration::from_secs(1),
            on: Duration::from_secs(1),
            off: Duration::from_secs(1),
            arrivals: Vec::new(),
            first_hop: 1,
            last_hop: None,
        }
    }
}

/// The settings of a group, in the order of the reference.
pub(super) const SETTINGS: &[Setting<Flows>] = &[
    ("flows.count", |flows, value| put(&mut flows.count, count(value)?)),
    ("flows.rtt", |flows, value| put(&mut flows.rtt, delay(value)?)),
    ("flows.congestion_control", |flows, value| {
        put(&mut flows.congestion_control, word(value, "\"reno\", \"cubic\", \"bbr\" or \"bbr3\"")?)
    }),
    ("flows.hystart", |flows, value| put(&mut flows.hystart, truth(value)?)),
    ("flows.ecn", |flows, value| put(&mut flows.ecn, truth(value)?)),
    ("flows.recovery", |flows, value| put(&mut flows.recovery, word(value, "\"reno\", \"newreno\" or \"sack\"")?)),
    ("flows.timestamps", |flows, value| put(&mut flows.timestamps, or_default(value, truth)?)),
    ("flows.pacing", |flows, value| put(&mut flows.pacing, word(value, "\"off\" or \"rtt\"")?)),
    ("flows.pacing_gain", |flows, value| put(&mut flows.pacing_gain, gain(value)?)),
    ("flows.pacing_burst", |flows, value| put(&mut flows.pacing_burst, count(value)?)),
    ("flows.initial_window", |flows, value| put(&mut flows.initial_window, at_least_one(value)?)),
    ("flows.largest_window", |flows, value| put(&mut flows.largest_window, or_none(value, at_least_one)?)),
    ("flows.packet", |flows, value| put(&mut flows.packet, packet_bytes(value)?)),
    ("flows.acknowledgment", |flows, value| put(&mut flows.acknowledgment, packet_bytes(value)?)),
    ("flows.delayed_acknowledgment", |flows, value| put(&mut flows.delayed_acknowledgment, delay(value)?)),
    ("flows.begin_within", |flows, value| put(&mut flows.begin_within, delay(value)?)),
    ("flows.workload", |flows, value| {
        put(&mut flows.workload, word(value, "\"long\", \"transfers\", \"on_off\" or \"arrivals\"")?)
    }),
    ("flows.transfer_segments", |flows, value| put(&mut flows.transfer_segments, count(value)?)),
    ("flows.transfers", |flows, value| put(&mut flows.transfers, or_none(value, count)?)),
    ("flows.think", |flows, value| put(&mut flows.think, positive(value)?)),
    ("flows.on", |flows, value| put(&mut flows.on, positive(value)?)),
    ("flows.off", |flows, value| put(&mut flows.off, positive(value)?)),
    ("flows.arrivals", |flows, value| put(&mut flows.arrivals, arrivals(value)?)),
    ("flows.first_hop", |flows, value| put(&mut flows.first_hop, count(value)?)),
    ("flows.last_hop", |flows, value| put(&mut flows.last_hop, hop(value)?)),
];

/// Reads a gain. With less than a thousandth a sender would be silent for minutes, with more than a thousand it would not be paced.
fn gain(value: &toml::Value) -> Result<f64, String> {
    between(value, 0.001, 1000.0)
}

fn hop(value: &toml::Value) -> Result<Option<u32>, String> {
    if value.as_str() == Some("last") {
        return Ok(None);
    }
    count(value).map(Some).map_err(|message| format!("{message}, or \"last\""))
}

/// A list of times and segments, in order.
fn arrivals(value: &toml::Value) -> Result<Vec<Arrival>, String> {
    const WHAT: &str = "a list such as [[\"1 s\", 10], [\"2.5 s\", 300]], with times that do not decrease and numbers of segments \
         from 1";
    let list = value.as_array().ok_or_else(|| expected(value, WHAT))?;
    let mut arrivals: Vec<Arrival> = Vec::new();
    for row in list {
        let pair = row.as_array().filter(|pair| pair.len() == 2).ok_or_else(|| expected(row, WHAT))?;
        let time = quantity::<Duration>(&pair[0])?;
        let segments = u64::from(count(&pair[1])?);
        if arrivals.last().is_some_and(|(before, _)| before.0 > time) {
            return Err(expected(row, WHAT));
        }
        arrivals.push((ArrivalTime(time), segments));
    }
    Ok(arrivals)
}
