//! Arguments of `quiclab stacks check`.

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::{
    setting_values,
    shared::{Output, StackOptions, testbeds},
};
use crate::settings::StacksCheckSettings;

/// Arguments of `quiclab stacks check`.
#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub struct StacksCheckArguments {
    /// Stacks to check [default: all]
    #[arg(value_name = "NAME", add = setting_values::stacks())]
    pub names: Vec<String>,
    /// Check only this claim, or all whose names begin with it and a dash; can be repeated
    #[arg(long, value_name = "CLAIM")]
    pub claim: Vec<String>,
    /// Print the names of the claims without checking them
    #[arg(long)]
    pub list: bool,
    /// Where to run them; claims that a testbed cannot check are listed and not tried [default: vm]
    #[arg(long, value_name = "TESTBED", value_parser = testbeds())]
    pub testbed: Option<String>,
    /// Number of runs in parallel; does not affect results in virtual time [default: one per core, and one in real time]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    /// Folder for the results of the runs, with a folder for each stack and claim
    #[arg(long, value_name = "DIR", default_value = "results/check")]
    pub out: PathBuf,
    /// Time limit of a run, in seconds of real time
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    pub wall_timeout: u64,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

impl StacksCheckArguments {
    /// Plain values of the arguments.
    pub fn resolve(self) -> StacksCheckSettings {
        StacksCheckSettings {
            names: self.names,
            claim: self.claim,
            list: self.list,
            testbed: self.testbed,
            jobs: self.jobs,
            out: self.out,
            wall_timeout: Duration::from_secs(self.wall_timeout),
            stacks: self.stacks.request(),
            json: self.output.json,
        }
    }
}

const CHECK_HELP: &str = "\
Examples:
  quiclab stacks check quinn                            every claim of its stack.toml
  quiclab stacks check --stack ./mine mine --claim transfer --claim gso
  quiclab stacks check quinn --list                     the names that --claim accepts

The claim \"transfer\" is checked first. If it fails, the others are not tried. A claim that fails is shown with the last lines \
that its endpoints printed. quiclab stacks try PATH does most of this without virtual machines, in seconds.

Exit status: the number of claims that fail, at most 99, without those that were not tried; 125 if nothing could be checked; 130 if interrupted.";
