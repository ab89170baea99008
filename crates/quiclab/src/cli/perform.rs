//! Arguments of `quiclab tools perform`.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::shared::{Output, StackOptions, testbeds};
use crate::settings::{PerformSettings, WALL_TIMEOUT};

/// Arguments of `quiclab tools perform`.
#[derive(Debug, Args)]
#[command(after_help = PERFORM_HELP)]
pub struct PerformArguments {
    /// The resolved run: a TOML or JSON file, or the run.toml of a record; - is standard input
    #[arg(value_name = "RUN")]
    pub file: PathBuf,
    /// The folder that becomes the record; folders above it are made if they are missing
    #[arg(long, value_name = "DIR", required_unless_present = "records")]
    pub record: Option<PathBuf>,
    /// Perform many runs of one kind: RUN has JSON lines as `quiclab run FILE --dry-run --needs` prints them, without the first. Records go into
    /// this folder; a JSON line for each run is printed
    #[arg(long, value_name = "DIR", conflicts_with = "record")]
    pub records: Option<PathBuf>,
    /// End at once when the process that started this one ends; PID is its number, so that one which has ended already is noticed
    #[arg(long, value_name = "PID")]
    pub with_parent: Option<u32>,
    /// Make nothing: what is missing in the cache is an error that names it
    #[arg(long, conflicts_with = "rebuild")]
    pub no_build: bool,
    /// Where to run it [default: the testbed that the run names, else vm]
    #[arg(long, value_name = "TESTBED", value_parser = testbeds())]
    pub testbed: Option<String>,
    /// Time limit of the run, in seconds of real time
    #[arg(long, value_name = "SECONDS", default_value_t = WALL_TIMEOUT.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    pub wall_timeout: u64,
    /// In real time: fail instead of waiting while another quiclab performs runs on this machine
    #[arg(long)]
    pub no_wait: bool,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

impl PerformArguments {
    /// Plain values of the arguments.
    pub fn resolve(self) -> PerformSettings {
        PerformSettings {
            file: self.file,
            record: self.record,
            records: self.records,
            with_parent: self.with_parent,
            no_build: self.no_build,
            testbed: self.testbed,
            wall_timeout: Duration::from_secs(self.wall_timeout),
            no_wait: self.no_wait,
            stacks: self.stacks.request(),
            json: self.output.json,
        }
    }
}

const PERFORM_HELP: &str = "\
Examples:
  quiclab run experiments/examples/first.toml --dry-run --json | jq '.[0]' > run.json
  quiclab tools perform run.json --record results/first/one       that run, here or on any machine with the same versions
  quiclab tools perform results/first/one/run.toml --record again  the run of a record once more
  quiclab run FILE --dry-run --needs | tail -n +2 | quiclab tools perform - --records results/x --no-build    all runs, as long as nothing must be built

A run whose record is there already is not performed again. Where another process is making the record, this one waits for it. \
What is known of a run that fails is kept in the folder failed/ beside the record.

Exit status: 0 the record is there; 1 the run failed; 125 quiclab could not do its work; 130 interrupted.";
