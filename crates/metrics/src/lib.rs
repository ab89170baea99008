//! From packets to numbers. Pure: the same capture gives the same metrics, to the byte.
//!
//! Holds: what each metric means (docs/reference/metrics.md says it in words), the layout of `metrics.json`, the warnings,
//! why packets leave in bursts, and the statistics over repetitions. Does not contain: the formats of captures, QUIC and qlog
//! (`quiclab-wire`), files, tables and pictures.
//!
//! Read [`analyze`] first: it reads a capture and gives a [`CaptureAnalysis`], in which every sender of every flow has its
//! [`RunMetrics`]. [`measure`] picks the flow of a run and adds what else was seen of it. A meter takes packets one by one,
//! keeps memory that does not grow with them, and fills its own fields at the end; a new metric is a meter and a line in
//! `direction`.

mod analysis;
mod bursts;
mod busy;
mod capture;
mod congestion_window;
mod decryption;
mod direction;
mod distance;
mod drops;
mod entries;
mod exchanges;
mod first_packets;
mod flight;
mod gaps;
mod goodput;
mod handshake;
mod host;
mod inference;
mod log_bins;
mod marks;
mod metric;
mod metrics;
mod needs;
mod observation;
mod output;
mod pacing;
mod packets;
mod payload_key;
mod peaks;
mod phases;
mod pictures;
mod planned;
mod ranges;
mod receiver;
mod recovery;
mod repeated;
mod rtt;
mod rtt_estimate;
mod samples;
mod series;
mod slow_start;
mod statistics;
mod summed_up;
mod taps;
mod tcp;
mod timeline;
mod trains;
mod transport;
mod unread;
mod verdict;
mod warnings;
mod windows;

pub use analysis::{Analysis, AnalysisSettings, DEFAULT_TRAIN_THRESHOLD, DirectionAnalysis, capture_warnings};
pub use bursts::{Burst, BurstCause};
pub use busy::BUSY_SHARE_LIMIT;
pub use capture::{CaptureAnalysis, CapturePart, FlowDescription, analyze, merge};
pub use congestion_window::{LoggedEnd, SlowStartLog, WindowChanges};
pub use decryption::DecryptionCounts;
pub use direction::LARGEST_FRAME_BYTES;
pub use distance::distribution_distance;
pub use gaps::SHORT_GAP;
pub use goodput::{UNEXPLAINED_SHARE_LIMIT, UNEXPLAINED_TIME_LIMIT};
pub use handshake::{
    Close, FirstAnswer, HandshakeClass, HandshakeClassifier, HandshakeDetail, HandshakeEstimate, HandshakeEvent,
    HandshakeMark, HandshakeMarkMeter, HandshakeMarks, HandshakeStream, HandshakeTaps, LoggedRoundTrips, SeenHandshake,
};
pub use host::{BatchSizes, EndpointUse, HOST_METRICS, HostUse};
pub use inference::{
    Estimate, Precision, alpha_at_analysis, failures_by_chance, holm, share_interval, smallest_by_chance, tarone,
};
pub use log_bins::BINS_PER_DECADE;
pub use metric::{Better, Metric, Theme, find_metric};
pub use metrics::{METRICS, Metrics};
pub use needs::{MOST_UNMET, NEEDS, Need};
pub use observation::{Observation, measure};
pub use output::{Distributions, MetricsFileError, RunMetrics, SCHEMA, Warning, Withheld};
pub use pacing::PacingMetrics;
pub use payload_key::PayloadKey;
pub use pictures::Pictures;
pub use planned::{Plan, PlannedKey, PlannedListError, PlannedTimes};
pub use ranges::RangeSet;
pub use recovery::PACKET_THRESHOLD;
pub use repeated::{Drift, FEWEST_FOR_OUTLIERS, Modes, dip, outliers};
pub use rtt_estimate::{GRANULARITY, INITIAL_RTT, RttEstimate};
pub use series::SeriesPoint;
pub use slow_start::{SlowStart, SlowStartEnd};
pub use statistics::Summary;
pub use summed_up::SummedUp;
pub use taps::{SENDING_CLIENT, TapPlace};
pub use timeline::{MOST_DROPS, SenderLog, SenderLogMeter, TIMELINE_POINTS, Timeline, TimelineBurst, TimelineMeter};
pub use trains::SHORT_TRAIN_PACKETS;
pub use verdict::{Evidence, Measured, NotJudged, PacketFacts, QueueFacts, Verdict, Verdicts, judge, verdict_rules};
pub use warnings::WarningCode;
pub use windows::Window;
