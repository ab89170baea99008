//! What the page of one run is made of.

use crate::{host::HostPictures, path_summary::PathSummary};
use quiclab_experiment::run::Run;
use quiclab_metrics::{PacketFacts, RunMetrics, SenderLog, SeriesPoint, Timeline};

/// One run over time. All times are nanoseconds since the first packet at the sender's tap.
#[derive(Clone, Debug)]
pub struct RunPage {
    /// Name of its record.
    pub record: String,
    /// The settings of the run.
    pub run: Run,
    /// The run's metrics and warnings.
    pub metrics: RunMetrics,
    /// Packets of the server and the queue between the taps.
    pub timeline: Timeline,
    /// The server's first packet in the flow that was measured.
    pub server_start_ns: u64,
    /// Bytes in flight of the flow that was measured. Empty where ACKs could not be read.
    pub bytes_in_flight: Vec<SeriesPoint>,
    /// Round-trip times of the flow that was measured, in ns. Empty where ACKs could not be read.
    pub rtt_ns: Vec<SeriesPoint>,
    /// When packets of that flow were sent that were declared lost.
    pub lost_ns: Vec<u64>,
    /// The sender's own log. `None`: it wrote none.
    pub log: Option<SenderLog>,
    /// What the path did with packets; `None` where the record does not say.
    pub path: Option<PathSummary>,
    /// What the hosts did; `None` where they were not sampled.
    pub host: Option<HostPictures>,
    /// Path of the page with the run's handshake; `None` where there is none.
    pub ladder: Option<String>,
    /// Path of the page with the run's packets; `None` where there is none.
    pub look: Option<String>,
    /// What its packets tell one by one; `None`: nobody looked.
    pub facts: Option<PacketFacts>,
}
