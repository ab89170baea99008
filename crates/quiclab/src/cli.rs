//! What can be typed.

mod ab;
mod import;
mod packets;
mod set;
mod stacks_check;
mod stacks_try;

use std::path::PathBuf;

use clap::{
    Args, Parser, Subcommand,
    builder::{PossibleValue, PossibleValuesParser},
};
use quiclab_metrics::DEFAULT_TRAIN_THRESHOLD;
use quiclab_testbed::testbed::TESTBEDS;
use quiclab_units::{ByteCount, Duration};

pub use ab::{AbArguments, Budget, JudgeOptions};
pub use import::{RoleChoice, StacksImportArguments};
pub use packets::PacketsArguments;
pub use set::SetOptions;
pub use stacks_check::StacksCheckArguments;
pub use stacks_try::StacksTryArguments;

/// How real QUIC stacks behave on the wire: runs them over a controlled network, reads the packets, reports.
#[derive(Debug, Parser)]
#[command(name = "quiclab", version, after_help = EXIT_STATUS)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

const EXIT_STATUS: &str = "\
Exit status: 0 all went well; 1 to 99 that many runs failed (99: or more), verify: 1 the record differs, \
doctor: 1 something required is missing; 125 quiclab could not do its work; 130 interrupted.

Environment: QUICLAB_CACHE is the folder for kernels, images, builds and saved states (default ~/.cache/quiclab).";

/// What quiclab does.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run an experiment; runs that have a record already are not run again
    Run(RunArguments),
    /// Measure captures of your own, made anywhere: pcap or pcapng, QUIC or TCP
    Analyze(AnalyzeArguments),
    /// List the packets of a record or a capture, all or those around a time
    Packets(PacketsArguments),
    /// Make the report of a folder of records again
    Report(ReportArguments),
    /// Check the expectations of experiments against their results
    Check(CheckArguments),
    /// Run two builds of an endpoint, or two settings, with the same seeds, and decide which metrics differ
    Ab(AbArguments),
    /// Compare two folders of results, such as those of two testbeds
    Compare(CompareArguments),
    /// Find the first packet where two records differ, and what the stacks logged there
    Diff(DiffArguments),
    /// Run a record's run again and compare every byte
    Verify(VerifyArguments),
    /// Check what this machine can do, what is missing, and how to fix it
    Doctor(DoctorArguments),
    /// List the stacks, build them, prove what they claim, import images
    Stacks(StacksArguments),
    /// List the kernels of guests, build the one with paced segmentation offload
    Kernel(KernelArguments),
    /// Run every server against every client in the cases of the QUIC Interop Runner, judged by their packets
    Interop(InteropArguments),
    /// Get the kernel, make the guest image, build the stacks, without running anything
    Prepare(PrepareArguments),
}

/// Arguments of `quiclab run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// The experiment file, or a folder of them, which are run one after the other
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// A profile of the file, such as quick
    #[arg(long)]
    pub profile: Option<String>,
    /// Repetitions, instead of the file's number
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub reps: Option<u32>,
    /// Only runs with this setting, such as stack=quiche or path.rate="40 Mbit/s"; can be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_filter)]
    pub filter: Vec<(String, String)>,
    #[command(flatten)]
    pub set: SetOptions,
    /// Where to run it [default: vm for transfers between stacks, sim for scenarios of models, which run nowhere else]
    #[arg(long, value_name = "TESTBED", value_parser = testbeds())]
    pub testbed: Option<String>,
    /// Virtual machines or simulations side by side; the results do not depend on it [default: one per core]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Folder of the records and the report [default: results/EXPERIMENT, followed by -PROFILE, by what --set and --stack change, and
    /// by -TESTBED with another testbed than vm]; for a folder of files, the one in which each gets a folder of its own [default: results]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seconds of this machine's time after which a run is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..))]
    pub wall_timeout: u64,
    /// Say what would be run, and run nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `quiclab analyze`.
#[derive(Debug, Args)]
#[command(after_help = ANALYZE_HELP)]
pub struct AnalyzeArguments {
    /// Captures, plain, gzip or zstd; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// A key log (SSLKEYLOGFILE), beside the secrets in the captures; can be given several times
    #[arg(long, value_name = "FILE")]
    pub keys: Vec<PathBuf>,
    /// A qlog of an end of a connection, for planned send times; can be given several times
    #[arg(long, value_name = "FILE")]
    pub qlog: Vec<PathBuf>,
    /// The server's planned send times: lines under packet_number,planned_ns or crc32c,planned_ns
    #[arg(long, value_name = "FILE")]
    pub planned: Option<PathBuf>,
    /// Take only flows with this UDP or TCP port at one end, which is the server [default: all; found by the handshake]
    #[arg(long, value_name = "PORT")]
    pub server_port: Option<u16>,
    /// Packets with a gap strictly below it belong to one train
    #[arg(long, value_name = "TIME", default_value_t = DEFAULT_TRAIN_THRESHOLD, value_parser = parse_positive::<Duration>)]
    pub train_threshold: Duration,
    /// Also measure each span of so much time by itself, such as "1 s"; in the JSON
    #[arg(long, value_name = "TIME", value_parser = parse_positive::<Duration>)]
    pub window: Option<Duration>,
    /// Bytes of the response, such as "100 MiB", for goodput [default: bytes of streams, where keys show them]
    #[arg(long, value_name = "SIZE")]
    pub response_size: Option<ByteCount>,
    /// Take all interfaces of a capture for one place, as of an optical tap with one for each direction
    #[arg(long)]
    pub merge_interfaces: bool,
    /// Write packets, QUIC frames and qlog events as Parquet files into this folder
    #[arg(long, value_name = "DIR")]
    pub parquet: Option<PathBuf>,
    /// Write a page with pictures
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

const ANALYZE_HELP: &str = "\
Examples:
  quiclab analyze capture.pcapng                          every flow, by headers, and by keys embedded in the file
  quiclab analyze capture.pcap --keys keys.log --html page.html
  tcpdump -w - udp port 443 | quiclab analyze - --server-port 443 --json

What each number means: docs/reference/metrics.md. What the JSON holds: docs/reference/analyze.md.
Exit status: 0; 1 a capture was cut off in the middle; 125 a file could not be read.";

/// Arguments of `quiclab report`.
#[derive(Debug, Args)]
#[command(after_help = REPORT_HELP)]
pub struct ReportArguments {
    /// A folder of records, as quiclab run leaves it, or one record, for a page of that run over time
    #[arg(value_name = "DIR|RECORD")]
    pub folder: PathBuf,
    /// Print a table of five columns as Markdown, for a pull request
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Also write each figure as an SVG file into this folder
    #[arg(long, value_name = "FOLDER")]
    pub figures: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

const REPORT_HELP: &str = "\
Examples:
  quiclab report results/examples/first --figures figures
  quiclab report results/examples/first --markdown >> summary.md
  quiclab report results/examples/first/quiche-01-0123      that run over time, on a page that zooms

What it writes: docs/reference/report.md. Exit status: 0; 125 a folder could not be read.";

/// Arguments of `quiclab check`.
#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub struct CheckArguments {
    /// Folders that quiclab run has filled, or that hold such folders
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Take what is undecided for failed
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub output: Output,
}

const CHECK_HELP: &str = "\
An experiment file says what must hold in its [[expect]] tables; docs/reference/experiment-file.md has them.
Exit status: the number of expectations that fail or could not be measured, at most 99; 125 a folder could not be read.";

/// Arguments of `quiclab compare`.
#[derive(Debug, Args)]
#[command(after_help = COMPARE_HELP)]
pub struct CompareArguments {
    /// A folder that quiclab run has filled
    #[arg(value_name = "A")]
    pub one: PathBuf,
    /// Another one, with the same settings
    #[arg(value_name = "B")]
    pub other: PathBuf,
    #[command(flatten)]
    pub judge: JudgeOptions,
}

const COMPARE_HELP: &str = "\
Groups of runs are pairs where all their settings are the same; hosts.timer_step, timer_lateness, call_cost, packet_cost and card_rate, which \
only the simulator has, may differ. How it decides: docs/reference/ab.md. Exit status: the number of conditions that fail or cannot be judged, \
one more where runs failed, at most 99; 125 where nothing could be compared.";

/// Arguments of `quiclab diff`.
#[derive(Debug, Args)]
#[command(after_help = DIFF_HELP)]
pub struct DiffArguments {
    /// Two records: folders with run.toml and wire.pcapng
    #[arg(required = true, num_args = 1.., value_names = ["A", "B"])]
    pub records: Vec<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

const DIFF_HELP: &str = "\
Packets are those of the sender's tap, in order, with times since the first. Exit status: 0 all are the same; 1 they part; 125 a \
record could not be read.";

/// Arguments of `quiclab verify`.
#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// A record: a folder with run.toml and wire.pcapng
    pub record: PathBuf,
    /// Seconds of this machine's time after which the run is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..))]
    pub wall_timeout: u64,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `quiclab doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `quiclab stacks`.
#[derive(Debug, Args)]
pub struct StacksArguments {
    /// What to do with them
    #[command(subcommand)]
    pub action: StacksAction,
}

/// What `quiclab stacks` does.
#[derive(Debug, Subcommand)]
pub enum StacksAction {
    /// Print the table of stacks, or all that is known of some
    List(StacksListArguments),
    /// Build stacks, as far as the cache does not have them
    Build(StacksBuildArguments),
    /// Prove in virtual machines what stacks claim, and that they refuse everything else
    Check(StacksCheckArguments),
    /// Try an endpoint on this machine, without virtual machines: transfers, test cases, refusals
    Try(StacksTryArguments),
    /// Make a stack of an image of the QUIC Interop Runner
    Import(StacksImportArguments),
}

/// Arguments of `quiclab stacks list`.
#[derive(Debug, Args)]
pub struct StacksListArguments {
    /// Stacks to print everything of [default: a table of all]
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

/// Arguments of `quiclab kernel`.
#[derive(Debug, Args)]
pub struct KernelArguments {
    /// What to do with them
    #[command(subcommand)]
    pub action: KernelAction,
}

/// What `quiclab kernel` does.
#[derive(Debug, Subcommand)]
pub enum KernelAction {
    /// Print the kernels that experiments may ask for, and which of them the cache has
    List(KernelListArguments),
    /// Build kernel 6.1-paced from Debian's source with the patch in kernel/patch, some minutes
    Build(KernelBuildArguments),
}

/// Arguments of `quiclab kernel list`.
#[derive(Debug, Args)]
pub struct KernelListArguments {
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `quiclab kernel build`.
#[derive(Debug, Args)]
pub struct KernelBuildArguments {
    /// Build it even where the cache has it from the same source, patch, configuration and compiler
    #[arg(long)]
    pub again: bool,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `quiclab interop`.
#[derive(Debug, Args)]
#[command(after_help = INTEROP_HELP)]
pub struct InteropArguments {
    /// Servers, with commas between [default: every QUIC stack that has one]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub server: Vec<String>,
    /// Clients, with commas between [default: every QUIC stack that has one]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub client: Vec<String>,
    /// Cases, with commas between, such as handshake,retry [default: all]
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    pub case: Vec<String>,
    /// Only the imported images of this implementations.json of the QUIC Interop Runner, where no names are given
    #[arg(long, value_name = "FILE")]
    pub implementations: Option<PathBuf>,
    /// Seed of all runs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Virtual machines side by side; the results do not depend on it [default: one per core]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Folder of the records and the matrix
    #[arg(long, value_name = "DIR", default_value = "results/interop")]
    pub out: PathBuf,
    /// Seconds of this machine's time after which a run is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    pub wall_timeout: u64,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

const INTEROP_HELP: &str = "\
Examples:
  quiclab interop                                        everything; an interrupted one goes on where it stopped
  quiclab interop --server quiche --case handshake,retry one server against all clients
  quiclab interop --stack ./my-endpoint --server my-endpoint

What each case asks for: docs/reference/interop.md. Exit status: the number of failures, at most 99; 125 it could not be run.";

/// Arguments of `quiclab prepare`.
#[derive(Debug, Args)]
pub struct PrepareArguments {
    /// An experiment file, to prepare what it needs [default: all stacks, kernel 6.1]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub set: SetOptions,
    #[command(flatten)]
    pub stacks: StackOptions,
}

/// Where the stacks are.
#[derive(Clone, Debug, Default, Args)]
pub struct StackOptions {
    /// Folder of the stacks [default: stacks/, or sans-io/ for the simulator, here or in a folder above]
    #[arg(long = "stacks", value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// A stack of your own: a program that keeps the endpoint contract, or a folder with a stack.toml; can be given several times.
    /// A file that does not name it is run for it instead of the stacks that it names
    #[arg(long = "stack", value_name = "PATH")]
    pub own: Vec<PathBuf>,
    /// Run the build command again of every stack that is needed, or with --stack of those alone, even where the cache has a build
    #[arg(long)]
    pub rebuild: bool,
}

/// How to print.
#[derive(Debug, Args)]
pub struct Output {
    /// Print JSON on standard output instead of text
    #[arg(long)]
    pub json: bool,
}

/// What `--testbed` takes.
fn testbeds() -> PossibleValuesParser {
    let value = |make: &fn() -> std::sync::Arc<dyn quiclab_testbed::testbed::Testbed>| {
        let testbed = make();
        PossibleValue::new(testbed.name()).help(testbed.about())
    };
    PossibleValuesParser::new(TESTBEDS.iter().map(value))
}

fn parse_positive<T>(text: &str) -> Result<T, String>
where
    T: std::str::FromStr<Err: std::fmt::Display> + Default + PartialEq,
{
    let value: T = text.parse().map_err(|error: T::Err| error.to_string())?;
    if value == T::default() { Err(format!("found {text:?}, expected more than 0")) } else { Ok(value) }
}

fn parse_filter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err(format!("found {text:?}, expected KEY=VALUE such as stack=quiche")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_filter_needs_a_key_and_an_equals_sign() {
        assert_eq!(parse_filter("path.rate=40 Mbit/s"), Ok(("path.rate".into(), "40 Mbit/s".into())));
        assert!(parse_filter("quiche").is_err());
        assert!(parse_filter("=quiche").is_err());
    }
}
