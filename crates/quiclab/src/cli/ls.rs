//! Arguments of `quiclab ls`.

use std::path::PathBuf;

use clap::Args;

use super::shared::Output;

/// Arguments of `quiclab ls`.
#[derive(Debug, Args)]
#[command(after_help = LS_HELP)]
pub struct LsArguments {
    /// Folders that quiclab run has filled, whose runs are listed, or folders above such folders
    #[arg(value_name = "DIR", default_value = "results")]
    pub folders: Vec<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

const LS_HELP: &str = "\
Examples:
  quiclab ls                                    every experiment that has results here
  quiclab ls results/examples/first             its runs: goodput, drops, warnings, failures
  quiclab ls results --json | jq '.results[] | select(.runs_failed > 0)'

Exit status: 0 success; 125 there are no results, or they cannot be read.";
