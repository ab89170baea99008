//! Arguments of `quiclab run`.

use std::path::PathBuf;

use clap::Args;

use super::{
    set::SetOptions,
    setting_values,
    shared::{Output, StackOptions, parse_filter, testbeds},
};

/// Repetitions at which `quiclab run --until-decided` gives up.
pub const MOST_REPETITIONS: u32 = 100;

/// Seconds that a run in real time waits for the machine to be quiet.
pub const WAIT_FOR_QUIET: u64 = 3;

/// Arguments of `quiclab run`.
#[derive(Clone, Debug, Args)]
pub struct RunArguments {
    /// An experiment file, or a folder of them to run one after the other
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// A profile that the file defines, such as quick
    #[arg(long)]
    pub profile: Option<String>,
    /// Number of repetitions, instead of the file's
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub reps: Option<u32>,
    /// Repeat the runs of expectations that are undecided until they are decided; starts with at least 3 repetitions
    #[arg(long)]
    pub until_decided: bool,
    /// With --until-decided: largest number of repetitions
    #[arg(long, value_name = "N", requires = "until_decided", default_value_t = MOST_REPETITIONS, value_parser = clap::value_parser!(u32).range(2..))]
    pub most_repetitions: u32,
    /// Run only what has this setting, such as stack=quiche or path.rate="40 Mbit/s"; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_filter, add = setting_values::settings())]
    pub filter: Vec<(String, String)>,
    #[command(flatten)]
    pub set: SetOptions,
    /// Where to run it [default: vm for transfers between stacks, sim for flows of models, which run nowhere else]
    #[arg(long, value_name = "TESTBED", value_parser = testbeds())]
    pub testbed: Option<String>,
    /// With --testbed hosts: the file that names them
    #[arg(long, value_name = "FILE")]
    pub hosts: Option<PathBuf>,
    /// Number of runs in parallel; does not affect results in virtual time [default: one per core, and one in real time]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Folder for the records and the report [default: results/EXPERIMENT, followed by -PROFILE, by what --set and --stack change, and
    /// by -TESTBED with another testbed than vm]; with a folder of files, each gets its own folder inside it [default: results]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Time limit of a run, in seconds of real time
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..))]
    pub wall_timeout: u64,
    /// In real time: how long each run waits for the machine to be quiet, in seconds. A run that begins all the same has a warning
    #[arg(long, value_name = "SECONDS", default_value_t = WAIT_FOR_QUIET)]
    pub wait_for_quiet: u64,
    /// With --testbed netns: first measure what this machine can do at best, for about three seconds, so that the report shows beside it what CPU
    /// time goes to
    #[arg(long)]
    pub roofline: bool,
    /// Also write packets, QUIC frames and qlog events of each run as Parquet files, into trace/record=NAME beside the report
    #[arg(long)]
    pub parquet: bool,
    /// Also write each figure to this folder, as an SVG, a PDF and a PNG file (the last two with rsvg-convert); with a folder of files, into a
    /// folder for each experiment
    #[arg(long, value_name = "FOLDER")]
    pub figures: Option<PathBuf>,
    /// Show what would run, without running it
    #[arg(long)]
    pub dry_run: bool,
    /// With --dry-run: make what the runs need, and print JSON lines: what a machine must have to perform them, then each run with the name of its
    /// record
    #[arg(long, requires = "dry_run")]
    pub needs: bool,
    /// In real time: fail instead of waiting while another quiclab performs runs on this machine
    #[arg(long)]
    pub no_wait: bool,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}
