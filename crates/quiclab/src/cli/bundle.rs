//! Arguments of `quiclab bundle` and `quiclab verify`.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::shared::{Output, StackOptions};
use crate::settings::{BundleSettings, VerifySettings, WALL_TIMEOUT};

/// Arguments of `quiclab bundle`.
#[derive(Debug, Args)]
#[command(after_help = BUNDLE_HELP)]
pub struct BundleArguments {
    /// A folder that quiclab run has filled
    #[arg(value_name = "DIR")]
    pub results: PathBuf,
    /// The archive to write; one that is there is replaced when the new one is complete
    #[arg(value_name = "OUT.ZIP")]
    pub out: PathBuf,
    /// Also pack the captures, which are most of a record; without them, quiclab verify compares those that it makes by their hashes
    #[arg(long)]
    pub with_captures: bool,
    /// The experiment file [default: the one that the command in experiment.json names, if it is there]
    #[arg(long, value_name = "FILE")]
    pub experiment: Option<PathBuf>,
    /// An author for CITATION.cff and .zenodo.json, as "Family, Given"; can be repeated
    #[arg(long, value_name = "NAME")]
    pub author: Vec<String>,
    /// Licence of the records and the experiment for the same files, as an SPDX identifier such as CC-BY-4.0
    #[arg(long, value_name = "SPDX")]
    pub licence: Option<String>,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

impl BundleArguments {
    /// Plain values of the arguments.
    pub fn resolve(self) -> BundleSettings {
        BundleSettings {
            results: self.results,
            out: self.out,
            with_captures: self.with_captures,
            experiment: self.experiment,
            author: self.author,
            licence: self.licence,
            stacks: self.stacks.request(),
            json: self.output.json,
        }
    }
}

const BUNDLE_HELP: &str = "\
Examples:
  quiclab bundle results/examples/first first.zip
  quiclab bundle results/examples/first first.zip --with-captures --author \"Doe, Jane\" --licence CC-BY-4.0
  quiclab verify first.zip --sample 3                       on another machine

What is in it: docs/guides/bundles.md. The same results give the same bytes.
Exit status: 0 success; 125 a record is damaged, or the archive could not be written.";

/// Arguments of `quiclab verify`.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_HELP)]
pub struct VerifyArguments {
    /// A record: a folder with run.toml; or an archive that quiclab bundle has written
    #[arg(value_name = "RECORD|BUNDLE")]
    pub record: PathBuf,
    /// Of a bundle: repeat so many of its runs, chosen by their identities; 0 compares hashes only [default: all runs]
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,
    /// Time limit of a run, in seconds of real time
    #[arg(long, value_name = "SECONDS", default_value_t = WALL_TIMEOUT.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    pub wall_timeout: u64,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

impl VerifyArguments {
    /// Plain values of the arguments.
    pub fn resolve(self) -> VerifySettings {
        VerifySettings {
            record: self.record,
            sample: self.sample,
            wall_timeout: Duration::from_secs(self.wall_timeout),
            stacks: self.stacks.request(),
            json: self.output.json,
        }
    }
}

const VERIFY_HELP: &str = "\
Examples:
  quiclab verify results/examples/first/quiche-01-0123      repeats that run
  quiclab verify first.zip --sample 3                       every hash, and three of the runs

Stacks are built from this machine's folder of stacks, never from what a bundle brings. Runs in real time cannot be repeated: of \
these, only hashes are compared.
Exit status: 0 all is the same; 1 a hash or a byte differs; 125 a run could not be repeated, or the archive is refused.";
