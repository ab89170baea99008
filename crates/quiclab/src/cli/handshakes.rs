//! Arguments of `quiclab handshakes`.

use std::path::PathBuf;

use clap::Args;

use super::{
    set::SetOptions,
    shared::{Output, StackOptions},
};

/// Arguments of `quiclab handshakes`.
#[derive(Debug, Args)]
#[command(after_help = HANDSHAKES_HELP)]
pub struct HandshakesArguments {
    /// An experiment file with transfers between stacks that the simulator has
    pub file: PathBuf,
    /// A profile that the file defines, such as quick
    #[arg(long)]
    pub profile: Option<String>,
    /// Handshakes of each combination of settings, with seeds that follow each other
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub count: u64,
    /// Write a row for each handshake with all its handshake metrics to this Parquet file
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,
    #[command(flatten)]
    pub set: SetOptions,
    /// Time limit of each combination, in seconds of real time
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..))]
    pub wall_timeout: u64,
    #[command(flatten)]
    pub stacks: StackOptions,
    #[command(flatten)]
    pub output: Output,
}

const HANDSHAKES_HELP: &str = "\
Examples:
  quiclab handshakes experiments/examples/lost-flight.toml --count 10000 --parquet handshakes.parquet
  quiclab handshakes experiments/examples/lost-flight.toml --set path.to_server.loss.drop=\"flight 1\"

Keeps two processes of each stack and starts a new connection in them for each handshake, with the same path, rules and metrics as quiclab run, but \
writes no records. Exit status 1 if a handshake failed.";
