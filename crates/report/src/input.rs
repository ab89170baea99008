//! What a report is made of.

use std::collections::{BTreeMap, BTreeSet};

use quiclab_content::Lost;
use quiclab_experiment::{
    Expectation, Published, Until,
    run::{Run, Versions},
    scenario::FigureSpec,
};
use quiclab_metrics::RunMetrics;

use crate::{interim_analyses::InterimAnalyses, packet_summary::PacketSummary, path_summary::PathSummary};

/// Everything a report shows. Equal inputs give equal bytes.
#[derive(Clone, Debug)]
pub struct ReportInput {
    /// Name of the experiment, for example `quic-steps/baseline`.
    pub experiment: String,
    /// What the experiment measures, in a line.
    pub title: String,
    /// Where the experiment comes from.
    pub source: Option<String>,
    /// The command that makes the runs again.
    pub command: String,
    /// Whether senders are ranked.
    pub ranking: bool,
    /// The runs, in the order of the plan.
    pub runs: Vec<RunRow>,
    /// The runs that failed.
    pub failures: Vec<FailureRow>,
    /// Published values, to compare with.
    pub published: Vec<Published>,
    /// The claims that must hold.
    pub expectations: Vec<Expectation>,
    /// The claims about runs that are not part of this plan.
    pub expectations_left_out: Vec<Expectation>,
    /// When the results were evaluated, where runs were repeated until claims were decided; `None`: once.
    pub looks: Option<InterimAnalyses>,
    /// The metric that was to be known well enough, where runs were repeated until it was.
    pub until: Option<Until>,
    /// The figures that the file asks for besides the usual ones.
    pub figures: Vec<FigureSpec>,
    /// Where the pages with ladders of handshakes are, by name of the record.
    pub ladders: BTreeMap<String, String>,
    /// What the machine of the runs can do at best; `None`: nobody measured it.
    pub machine: Option<MachineLimits>,
}

impl ReportInput {
    /// The metrics that the experiment is about: those of its expectations, figures and published values.
    pub(crate) fn asked(&self) -> BTreeSet<&str> {
        let expected = self.expectations.iter().chain(&self.expectations_left_out).map(|one| one.metric.as_str());
        let drawn = self.figures.iter().flat_map(|figure| &figure.y).map(String::as_str);
        let published = self.published.iter().flat_map(|row| row.values.keys()).map(String::as_str);
        expected.chain(drawn).chain(published).collect()
    }
}

/// What a machine can do with a core for each end of a transfer, in CPU nanoseconds for each byte: of the end that sends, and of the end that
/// receives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineLimits {
    /// Bytes of UDP payload in each packet.
    pub packet_bytes: usize,
    /// CPU time for packet protection, with the cheapest cipher.
    pub cryptography: [f64; 2],
    /// CPU time in the kernel, for sending and receiving by the cheapest way through UDP sockets.
    pub sockets: [f64; 2],
}

impl MachineLimits {
    /// What no stack passes, in bits of UDP payload in a second: the slower end has nothing else to do.
    pub fn best_bits_per_second(&self) -> f64 {
        let [sends, receives] = [0, 1].map(|end| self.cryptography[end] + self.sockets[end]);
        8e9 / sends.max(receives)
    }
}

/// One run that went well.
#[derive(Clone, Debug)]
pub struct RunRow {
    /// Name of its record.
    pub folder: String,
    /// The settings of the run.
    pub run: Run,
    /// What it was made with.
    pub versions: Versions,
    /// When it began, in milliseconds since 1970, where time was real.
    pub started_unix_ms: Option<u64>,
    /// The run's metrics and warnings.
    pub metrics: RunMetrics,
    /// The server's packets at the sender's tap, in order of capture: nanoseconds since the first, and bytes of all
    /// frames up to and including this one. `None` where the report draws no packet-time picture of this run.
    pub packets: Option<Vec<(u64, u64)>>,
    /// The server's congestion window by its own log: nanoseconds since its log began, and bytes. `None` where it logged none, or the
    /// report draws no picture of this run.
    pub congestion_window: Option<Vec<(u64, u64)>>,
    /// The CRYPTO and STREAM bytes that the path lost; `None` where packets were dropped and the record does not list them.
    pub lost: Option<Lost>,
    /// What the path did with packets; `None` where the record does not say.
    pub path: Option<PathSummary>,
    /// What its packets tell one by one; `None` where nobody looked at them.
    pub packet_summary: Option<PacketSummary>,
}

/// One run that did not.
#[derive(Clone, Debug)]
pub struct FailureRow {
    /// Name under which what is known of it was kept.
    pub folder: String,
    /// Why.
    pub message: String,
    /// The run, as far as it came; `None` where no run was begun, or what was kept of it does not say.
    pub failed: Option<FailedRun>,
}

/// A run that was begun and failed.
#[derive(Clone, Debug)]
pub struct FailedRun {
    /// The settings of the run.
    pub run: Run,
    /// Who is to blame.
    pub cause: FailureCause,
}

/// Who is to blame for a run that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureCause {
    /// The endpoints, once both were there: the client ended with a failure or did not end in time, or the server ended before it.
    Endpoints,
    /// An endpoint answered that it does not support the settings (exit status 127).
    Unsupported,
    /// Anything else, such as the testbed, or what is expected of the path or the files of a run whose client was content.
    Other,
}
