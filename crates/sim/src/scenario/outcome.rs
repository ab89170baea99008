//! What is measured of a scenario.

use quiclab_path::usage::Usage;
use quiclab_units::{Duration, Time};

use crate::{
    simulation::Stopped,
    tcp::sender::{Counters, FirstLoss},
    workload::Completion,
};

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Why it ended.
    pub stopped: Stopped,
    /// Events that were handled ([`crate::simulation::Simulation::handled`]).
    pub events: u64,
    /// Packets that were taken in by stages of the path.
    pub packets_at_stages: u64,
    /// Samples, one at the end of each interval.
    pub samples: Vec<Sample>,
    /// How many of these belong to the warm-up.
    pub warm_up_samples: usize,
    /// Outcome of each flow at the end, the first group's first.
    pub flows: Vec<FlowOutcome>,
}

/// What was seen at the end of an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub time: Time,
    /// Segments of each group that have arrived since the beginning, each counted once.
    pub delivered: Vec<u64>,
    /// The sum of the congestion windows of each group, in segments.
    pub windows: Vec<f64>,
    /// Jain's index of what the flows have delivered in this interval; `None` where that is nothing.
    pub fairness: Option<f64>,
    /// The same with each flow's share multiplied by its round-trip time without queues.
    pub fairness_by_rtt: Option<f64>,
    /// Jain's index of what the flows have delivered since the warm-up; `None` before its end and where that is nothing.
    pub fairness_cumulative: Option<f64>,
    /// The same by round-trip times.
    pub fairness_by_rtt_cumulative: Option<f64>,
    /// Sample of each hop.
    pub hops: Vec<HopSample>,
}

/// What was seen of one hop at the end of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopSample {
    /// Packets in its queue, with the one being sent.
    pub queue_packets: u64,
    /// Packets dropped there since the beginning.
    pub dropped: u64,
    /// Packets marked there since the beginning.
    pub marked: u64,
    /// Packets that have left it since the beginning.
    pub forwarded: u64,
    /// How its link was used since the beginning.
    pub usage: Usage,
}

/// Outcome of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOutcome {
    /// The number of its group.
    pub group: usize,
    /// Segments that have arrived, each counted once.
    pub delivered: u64,
    /// How many of them arrived in the warm-up.
    pub delivered_in_warm_up: u64,
    /// Its round-trip time without queues, and without what packets take on the links.
    pub rtt: Duration,
    /// What its sender has done.
    pub counters: Counters,
    /// The first loss that its sender saw.
    pub first_loss: Option<FirstLoss>,
    /// Its transfers that have ended.
    pub completions: Vec<Completion>,
    /// When the transfer began that had not ended at the end of the run; `None` if there was none.
    pub unfinished: Option<Time>,
}
