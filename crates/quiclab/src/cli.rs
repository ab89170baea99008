//! The command line.

mod ab;
mod advise;
mod bundle;
mod cache;
mod campaign;
pub mod completion;
mod groups;
mod help;
mod import;
mod look;
mod ls;
pub mod manual;
mod packets;
mod perf;
mod perform;
mod prepare;
mod pto;
#[cfg(test)]
mod reference;
mod run;
mod scan;
mod set;
mod setting_values;
mod shared;
mod stacks_check;
mod stacks_try;
mod tools;
mod values;

use std::{num::NonZeroUsize, path::PathBuf};

use clap::{Args, Parser, Subcommand};
use quiclab_metrics::DEFAULT_TRAIN_THRESHOLD;
use quiclab_units::{ByteCount, Duration};

pub use ab::AbArguments;
pub use advise::AdviseArguments;
pub use bundle::{BundleArguments, VerifyArguments};
pub use cache::{CacheAction, CacheArguments};
pub use campaign::CampaignArguments;
pub use groups::command;
pub use help::HelpArguments;
pub use import::StacksImportArguments;
pub use look::LookArguments;
pub use ls::LsArguments;
pub use packets::PacketsArguments;
pub use perf::PerfArguments;
pub use run::RunArguments;
pub use scan::ScanArguments;
use shared::{Output, StackOptions};
pub use stacks_check::StacksCheckArguments;
pub use stacks_try::StacksTryArguments;
pub use tools::{KernelAction, Tool, ToolsArguments};

use shared::parse_positive;

use crate::{
    settings::{AnalyzeSettings, DoctorSettings, InteropSettings, ReportSettings},
    verbs::check::{CheckRules, Form},
};

/// A laboratory for how QUIC behaves on the wire: runs real stacks over a controlled network and measures their packets
#[derive(Debug, Parser)]
#[command(name = "quiclab", version, after_help = EXIT_STATUS, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

const EXIT_STATUS: &str = "\
Exit status: 0 success; 1 to 99 the number of failed runs (99 or more); 125 quiclab itself could not continue; 130 interrupted. \
verify: 1 if something differs. doctor: 1 if something required is missing or damaged.

Environment: QUICLAB_CACHE is the folder for kernels, images, builds and saved states [default: ~/.cache/quiclab]. \
QUICLAB_SHARE is a folder with stacks/ and experiments/, where neither the current folder nor a parent has them \
[default: share/quiclab of the installed command]. PAGER shows quiclab help [default: less].";

/// What quiclab does.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run an experiment; runs that already have a record are not repeated
    Run(RunArguments),
    /// Perform an experiment's runs on many machines, with Dask
    Campaign(CampaignArguments),
    /// Measure how fast stacks are: iperf3 for QUIC, on this machine or between two
    Perf(PerfArguments),
    /// Measure captures made anywhere: pcap or pcapng, QUIC or TCP
    Analyze(AnalyzeArguments),
    /// List the packets of a record or a capture: all of them, or those around a time
    Packets(PacketsArguments),
    /// Show one transfer over time, packet by packet, on a page that zooms; or two on one time axis
    Look(LookArguments),
    /// Answer a question about handshakes from a model: whether to send instant acknowledgments, what a probe timeout becomes
    Advise(AdviseArguments),
    /// Ask many servers for a QUIC handshake, or read captures, and say how each answers
    Scan(ScanArguments),
    /// List results: every experiment that has some here, or the runs of one
    Ls(LsArguments),
    /// Rebuild the report of a result folder
    Report(ReportArguments),
    /// Check an experiment's expectations against its results
    Check(CheckArguments),
    /// Run two builds of an endpoint, or two settings, with the same seeds, or take two result folders, and decide which metrics differ
    Ab(AbArguments),
    /// Find the first packet where two records differ, and what the stacks logged there
    Diff(DiffArguments),
    /// Pack a results folder into an archive that others can verify
    Bundle(BundleArguments),
    /// Repeat the run of a record, or runs of a bundle, and compare every byte
    Verify(VerifyArguments),
    /// Show what this machine can do, what is missing, and how to fix it
    Doctor(DoctorArguments),
    /// List what the cache has, remove what was not used for longest, or remove things by name
    Cache(CacheArguments),
    /// List, build, try and check stacks, or import images
    Stacks(StacksArguments),
    /// Run every server against every client in the test cases of the QUIC Interop Runner, and judge their packets
    Interop(InteropArguments),
    /// Explain a verb or a topic: concepts, guides and references, as in docs/
    Help(HelpArguments),
    /// What scripts and packages call: single resolved runs, preparation, kernels, completion in a shell, manual pages
    #[command(hide = true)]
    Tools(ToolsArguments),
}

/// Arguments of `quiclab analyze`.
#[derive(Debug, Args)]
#[command(after_help = ANALYZE_HELP)]
pub struct AnalyzeArguments {
    /// Captures: plain, gzip or zstd; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// A key log (SSLKEYLOGFILE), in addition to secrets in the captures; can be repeated
    #[arg(long, value_name = "FILE")]
    pub keys: Vec<PathBuf>,
    /// A qlog of one endpoint, for planned send times; can be repeated
    #[arg(long, value_name = "FILE")]
    pub qlog: Vec<PathBuf>,
    /// The server's planned send times: a CSV file with the header packet_number,planned_ns or crc32c,planned_ns
    #[arg(long, value_name = "FILE")]
    pub planned: Option<PathBuf>,
    /// UDP or TCP port of the server; other flows are ignored [default: all flows; the handshake shows which end is the server]
    #[arg(long, value_name = "PORT")]
    pub server_port: Option<u16>,
    /// Packets whose gap is strictly smaller belong to one train
    #[arg(long, value_name = "TIME", default_value_t = DEFAULT_TRAIN_THRESHOLD, value_parser = parse_positive::<Duration>)]
    pub train_threshold: Duration,
    /// Also measure each span of this length separately, such as "1 s"; appears in the JSON
    #[arg(long, value_name = "TIME", value_parser = parse_positive::<Duration>)]
    pub window: Option<Duration>,
    /// Size of the response, such as "100 MiB", for goodput [default: the bytes of streams, if keys reveal them]
    #[arg(long, value_name = "SIZE")]
    pub response_size: Option<ByteCount>,
    /// Treat all interfaces of a capture as one place, for example of an optical tap with one interface per direction
    #[arg(long)]
    pub merge_interfaces: bool,
    /// Threads to use; the output is the same with any number [default: one for each core]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Write packets, QUIC frames and qlog events to this folder as Parquet files
    #[arg(long, value_name = "DIR")]
    pub parquet: Option<PathBuf>,
    /// Write an HTML page with figures
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write an HTML page with the handshake of each QUIC connection: both sides, and each datagram between them with its frames
    #[arg(long, value_name = "FILE")]
    pub ladder: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

impl AnalyzeArguments {
    /// Plain values of the arguments.
    pub fn resolve(self) -> AnalyzeSettings {
        AnalyzeSettings {
            files: self.files,
            keys: self.keys,
            qlog: self.qlog,
            planned: self.planned,
            server_port: self.server_port,
            train_threshold: self.train_threshold,
            window: self.window,
            response_size: self.response_size,
            merge_interfaces: self.merge_interfaces,
            threads: self.threads,
            parquet: self.parquet,
            html: self.html,
            ladder: self.ladder,
            json: self.output.json,
        }
    }
}

const ANALYZE_HELP: &str = "\
Examples:
  quiclab analyze capture.pcapng                          every flow, using headers and any keys in the file
  quiclab analyze capture.pcap --keys keys.log --html page.html
  tcpdump -w - udp port 443 | quiclab analyze - --server-port 443 --json

Metrics: docs/reference/metrics.md. JSON: docs/reference/analyze.md.
Exit status: 0 success; 1 a capture is truncated; 125 a file could not be read.";

/// Arguments of `quiclab report`.
#[derive(Debug, Args)]
#[command(after_help = REPORT_HELP)]
pub struct ReportArguments {
    /// A folder that quiclab run has filled, or one record for a page that shows its run over time
    #[arg(value_name = "DIR|RECORD")]
    pub folder: PathBuf,
    /// Print a Markdown table of five columns, for a pull request
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Write a page with the handshake of each run, whatever the experiment is about and however many runs there are
    #[arg(long)]
    pub ladders: bool,
    /// Write a page with every packet of each run, as quiclab look does, and link to it; up to 10 MiB for a run of 100 MiB
    #[arg(long)]
    pub pages: bool,
    /// Also write each figure to this folder, as an SVG, a PDF and a PNG file (the last two with rsvg-convert)
    #[arg(long, value_name = "FOLDER")]
    pub figures: Option<PathBuf>,
    /// Also write packets, QUIC frames and qlog events of each run as Parquet files, into trace/record=NAME in the folder of the results
    #[arg(long)]
    pub parquet: bool,
    #[command(flatten)]
    pub output: Output,
}

impl ReportArguments {
    /// Plain values of the arguments.
    pub fn resolve(self) -> ReportSettings {
        ReportSettings {
            folder: self.folder,
            markdown: self.markdown,
            ladders: self.ladders,
            pages: self.pages,
            figures: self.figures,
            parquet: self.parquet,
            json: self.output.json,
        }
    }
}

const REPORT_HELP: &str = "\
Examples:
  quiclab report results/examples/first --figures figures
  quiclab report results/examples/first --pages             and a page with every packet of each run
  quiclab report results/examples/first --markdown >> summary.md
  quiclab report results/examples/first/quiche-01-0123      that run over time, on a page that can zoom

What it writes: docs/reference/report.md. Exit status: 0 success; 125 a folder could not be read.";

/// Arguments of `quiclab check`.
#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub struct CheckArguments {
    /// Folders that quiclab run has filled, or folders that contain such folders
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Count undecided expectations as failed
    #[arg(long)]
    pub strict: bool,
    /// Succeed where the experiments have no expectations
    #[arg(long)]
    pub allow_none: bool,
    /// Also audit each record: compare the packets of both taps with what the path promises and with what its stages counted. A record that
    /// violates a law counts as failed
    #[arg(long)]
    pub audit: bool,
    /// Print a Markdown table with a row for each expectation
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    #[command(flatten)]
    pub output: Output,
}

impl CheckArguments {
    /// Returns what is judged, and how strictly.
    pub fn rules(&self) -> CheckRules {
        CheckRules { strict: self.strict, allow_none: self.allow_none, audit: self.audit }
    }

    /// Returns how to print what was found.
    pub fn form(&self) -> Form {
        match (self.output.json, self.markdown) {
            (true, _) => Form::Json,
            (false, true) => Form::Markdown,
            (false, false) => Form::Text,
        }
    }
}

const CHECK_HELP: &str = "\
The expectations are the [[expect]] tables of the experiment file: docs/reference/experiment-file.md.
What --audit compares: docs/concepts/auditor.md. It needs no expectations.
Exit status: the number of expectations that fail or could not be measured and of records that violate a law, at most 99; 125 a folder could not be read, or there are no expectations and --allow-none is not given.";

/// Arguments of `quiclab diff`.
#[derive(Debug, Args)]
#[command(after_help = DIFF_HELP)]
pub struct DiffArguments {
    /// Two records of the same workload: folders with run.toml
    #[arg(required = true, num_args = 1.., value_names = ["A", "B"])]
    pub records: Vec<PathBuf>,
    /// Also write a page with both transfers on one time axis, as quiclab look does, and print its address at the packet that differs
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

const DIFF_HELP: &str = "\
Compares the packets at the sender's tap in order, with times since the first one. Where the records list what their paths dropped, it names the \
CRYPTO and STREAM bytes that each lost, and whether they are the same. Exit status: 0 all packets are equal; 1 they differ; 125 a record could not \
be read.";

/// Arguments of `quiclab doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Also read every file in the cache and compare it with the hash that was noted when it was made
    #[arg(long)]
    pub cache: bool,
    /// Instead, read every record below this folder and compare its files with the lengths and hashes that were noted when it was
    /// written; can be repeated
    #[arg(long, value_name = "DIR")]
    pub records: Vec<PathBuf>,
    /// Instead, look at the hosts that this file names for --testbed hosts: over ssh, and by packets between them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["records", "cache"])]
    pub hosts: Option<PathBuf>,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

impl DoctorArguments {
    /// Plain values of the arguments.
    pub fn resolve(self) -> DoctorSettings {
        DoctorSettings {
            cache: self.cache,
            records: self.records,
            hosts: self.hosts,
            stacks: self.stacks.request(),
            json: self.output.json,
        }
    }
}

/// Arguments of `quiclab stacks`.
#[derive(Debug, Args)]
pub struct StacksArguments {
    /// What to do
    #[command(subcommand)]
    pub action: StacksAction,
}

/// What `quiclab stacks` does.
#[derive(Debug, Subcommand)]
pub enum StacksAction {
    /// Print a table of the stacks, or everything about the named ones
    List(StacksListArguments),
    /// Build the stacks that are not in the cache yet
    Build(StacksBuildArguments),
    /// Test in virtual machines that stacks do what they claim and refuse everything else
    Check(StacksCheckArguments),
    /// Test an endpoint on this machine, without virtual machines: transfers, test cases, refusals
    Try(StacksTryArguments),
    /// Turn an image of the QUIC Interop Runner into a stack
    Import(StacksImportArguments),
}

/// Arguments of `quiclab stacks list`.
#[derive(Debug, Args)]
pub struct StacksListArguments {
    /// Stacks to describe in full [default: a table of all stacks]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `quiclab stacks build`.
#[derive(Debug, Args)]
pub struct StacksBuildArguments {
    /// Stacks to build [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `quiclab interop`.
#[derive(Debug, Args)]
#[command(after_help = INTEROP_HELP)]
pub struct InteropArguments {
    /// Servers, separated by commas [default: every QUIC stack with a server]
    #[arg(long, value_name = "NAME", value_delimiter = ',', add = setting_values::stacks())]
    pub server: Vec<String>,
    /// Clients, separated by commas [default: every QUIC stack with a client]
    #[arg(long, value_name = "NAME", value_delimiter = ',', add = setting_values::stacks())]
    pub client: Vec<String>,
    /// Test cases, separated by commas, such as handshake,retry [default: all but measurements]
    #[arg(long, value_name = "CASE", value_delimiter = ',', add = setting_values::interop_cases())]
    pub case: Vec<String>,
    /// Without names, run only the imported images of this implementations.json of the QUIC Interop Runner
    #[arg(long, value_name = "FILE")]
    pub implementations: Option<PathBuf>,
    /// Seed of all runs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Number of virtual machines in parallel; does not affect results [default: one per core]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Folder for the records and the matrix
    #[arg(long, value_name = "DIR", default_value = "results/interop")]
    pub out: PathBuf,
    /// Time limit of a run, in seconds of real time
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    pub wall_timeout: u64,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

impl InteropArguments {
    /// Plain values of the arguments.
    pub fn resolve(self) -> InteropSettings {
        InteropSettings {
            server: self.server,
            client: self.client,
            case: self.case,
            implementations: self.implementations,
            seed: self.seed,
            jobs: self.jobs,
            out: self.out,
            wall_timeout: std::time::Duration::from_secs(self.wall_timeout),
            stacks: self.stacks.request(),
            json: self.output.json,
        }
    }
}

const INTEROP_HELP: &str = "\
Examples:
  quiclab interop                                        everything; continues if it was interrupted
  quiclab interop --server quiche --case handshake,retry one server against all clients
  quiclab interop --stack ./my-endpoint --server my-endpoint

Test cases: docs/reference/interop.md. Exit status: the number of failures, at most 99; 125 if nothing could be run.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        command().debug_assert();
    }
}
