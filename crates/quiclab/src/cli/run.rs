//! Arguments of `quiclab run`.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result};
use clap::Args;
use quiclab_testbed::stack_store::find_file;

use super::{
    set::SetOptions,
    setting_values,
    shared::{Output, StackOptions, parse_filter, testbeds},
};
use crate::settings::{MOST_REPETITIONS, RunAction, RunSettings, WAIT_FOR_QUIET, WALL_TIMEOUT};

/// Arguments of `quiclab run`.
#[derive(Debug, Args)]
#[command(after_help = RUN_HELP)]
pub struct RunArguments {
    /// Experiment files, or folders of them, to run one after the other
    #[arg(value_name = "FILE", required_unless_present = "demo")]
    pub files: Vec<PathBuf>,
    /// Instead of a file: the quick profile of the baseline, which shows how four senders space their packets, into quiclab-demo. Needs no
    /// repository: an installed quiclab has the experiment
    #[arg(long, conflicts_with_all = ["files", "profile"])]
    pub demo: bool,
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
    /// by -TESTBED with another testbed than vm]; with several files, each gets its own folder inside it [default: results]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Time limit of a run, in seconds of real time
    #[arg(long, value_name = "SECONDS", default_value_t = WALL_TIMEOUT.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    pub wall_timeout: u64,
    /// In real time: how long each run waits for the machine to be quiet, in seconds. A run that begins all the same has a warning
    #[arg(long, value_name = "SECONDS", default_value_t = WAIT_FOR_QUIET.as_secs())]
    pub wait_for_quiet: u64,
    /// With --testbed netns: first measure what this machine can do at best, for about three seconds, so that the report shows beside it what CPU
    /// time goes to
    #[arg(long)]
    pub roofline: bool,
    /// Also audit each run, whatever made it: compare the packets of both taps with what the path promises and with what its stages counted. A run
    /// that violates a law counts as failed
    #[arg(long)]
    pub audit: bool,
    /// Also write packets, QUIC frames and qlog events of each run as Parquet files, into trace/record=NAME beside the report
    #[arg(long)]
    pub parquet: bool,
    /// Also write each figure to this folder, as an SVG, a PDF and a PNG file (the last two with rsvg-convert); with several files, into a folder
    /// for each experiment
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
    /// Instead of runs with records: perform N handshakes of each combination of settings in the simulator, with seeds that follow each other,
    /// and measure each
    #[arg(
        long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000),
        conflicts_with_all = [
            "reps", "until_decided", "testbed", "hosts", "jobs", "out", "roofline", "audit", "parquet", "figures", "dry_run", "no_wait"
        ]
    )]
    pub handshakes: Option<u64>,
    /// With --handshakes: write a row for each handshake with all its handshake metrics to this Parquet file
    #[arg(long, value_name = "FILE", requires = "handshakes")]
    pub handshakes_table: Option<PathBuf>,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

/// The experiment of `--demo`, its profile and its folder.
const DEMO: [&str; 3] = ["experiments/quic-steps/baseline.toml", "quick", "quiclab-demo"];

const RUN_HELP: &str = "\
Examples:
  quiclab run --demo                                      four senders on the path of QUIC Steps
  quiclab run experiments/examples/first.toml --stack ./my-endpoint
  quiclab run FILE --set path.rate=\"10 Mbit/s,20 Mbit/s\" --until-decided
  quiclab run experiments/examples/lost-flight.toml --handshakes 10000 --handshakes-table handshakes.parquet

--handshakes keeps two processes of each stack and starts a new connection in them for each handshake, with the same path, rules and \
metrics as other runs. Exit status: the number of failed runs, at most 99; with --handshakes 1 if a handshake failed; 125 quiclab could not \
do its work.";

impl RunArguments {
    /// Returns what they ask for.
    ///
    /// # Errors
    /// Where the experiment of `--demo` is not found.
    pub fn resolve(self) -> Result<(RunAction, RunSettings)> {
        let [demo, profile, out] = DEMO;
        let (files, profile, out) = match &self.files[..] {
            [_, ..] => (self.files, self.profile, self.out),
            [] => {
                let file = find_file(demo).with_context(|| {
                    format!(
                        "found no {demo} here, in a parent folder, or where quiclab is installed\nhint: work in a clone of quiclab, or \
                         name the folder that has experiments/ in QUICLAB_SHARE"
                    )
                })?;
                (vec![file], Some(profile.to_owned()), Some(self.out.unwrap_or_else(|| out.into())))
            }
        };
        let action = match (self.handshakes, self.dry_run, self.needs) {
            (Some(count), ..) => RunAction::CountHandshakes { count, table: self.handshakes_table },
            (None, true, true) => RunAction::PrintNeeds,
            (None, true, false) => RunAction::Print,
            (None, false, _) => RunAction::Perform,
        };
        let settings = RunSettings {
            files,
            profile,
            repetitions: self.reps,
            until_decided: self.until_decided,
            most_repetitions: self.most_repetitions,
            filters: self.filter,
            set: self.set.settings,
            testbed: self.testbed,
            hosts: self.hosts,
            jobs: self.jobs,
            out,
            wall_timeout: Duration::from_secs(self.wall_timeout),
            wait_for_quiet: Duration::from_secs(self.wait_for_quiet),
            waits_for_turn: !self.no_wait,
            roofline: self.roofline,
            audit: self.audit,
            parquet: self.parquet,
            figures: self.figures,
            stacks: self.stacks.request(),
            json: self.output.json,
        };
        Ok((action, settings))
    }
}
