//! From the packets of a run to its numbers. Pure: the same observation gives the same metrics, to the byte.
//!
//! Holds: what each metric means (one file per metric; docs/reference/metrics.md says it in words), the layout of
//! `metrics.json`, the warnings, and the statistics over repetitions. Holds not: reading captures (`quiclab-wire`), files,
//! tables and pictures.
//!
//! Read [`Observation`], then [`measure`]. A new metric is a file with a function like the others and a line in `METRICS`.

mod busy;
mod capture_quality;
mod drops;
mod flow;
mod gaps;
mod goodput;
mod log_bins;
mod observation;
mod output;
mod packets;
mod statistics;
mod trains;
mod warnings;

pub use busy::BUSY_SHARE_LIMIT;
pub use capture_quality::LARGEST_FRAME_BYTES;
pub use gaps::SHORT_GAP;
pub use goodput::PROCESS_DIFFERENCE_LIMIT;
pub use log_bins::BINS_PER_DECADE;
pub use observation::{DEFAULT_TRAIN_THRESHOLD, Observation};
pub use output::{Distributions, Metrics, MetricsFileError, RunMetrics, SCHEMA, Warning};
pub use statistics::Summary;
pub use warnings::WarningCode;

use flow::Flow;

/// What every metric is computed from.
pub(crate) struct Input<'a> {
    observation: &'a Observation<'a>,
    /// The flow under test. Without packets when the capture holds none.
    flow: Flow<'a>,
}

/// Each fills its own fields and adds its own warnings. The order is that of the warnings.
const METRICS: [fn(&Input, &mut RunMetrics); 7] = [
    capture_quality::measure,
    packets::measure,
    gaps::measure,
    trains::measure,
    goodput::measure,
    drops::measure,
    busy::measure,
];

/// Measures one run.
pub fn measure(observation: &Observation) -> RunMetrics {
    let input = Input { observation, flow: Flow::find(observation) };
    let mut run = RunMetrics::empty();
    for metric in METRICS {
        metric(&input, &mut run);
    }
    run
}
