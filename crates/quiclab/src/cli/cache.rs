//! Arguments of `quiclab cache`.

use clap::{Args, Subcommand};
use quiclab_units::ByteCount;

use super::shared::Output;

/// Arguments of `quiclab cache`.
#[derive(Debug, Args)]
#[command(after_help = CACHE_HELP, args_conflicts_with_subcommands = true)]
pub struct CacheArguments {
    /// What to do [default: list]
    #[command(subcommand)]
    pub action: Option<CacheAction>,
    #[command(flatten)]
    pub output: Output,
}

const CACHE_HELP: &str = "\
Examples:
  quiclab cache
  quiclab cache prune --keep 10GB --dry-run
  quiclab cache remove state/05e544d5c751ddcc

Guide: docs/guides/cache.md. quiclab doctor --cache checks every file. Exit status: 0 success; 125 on any error.";

/// What `quiclab cache` does.
#[derive(Debug, Subcommand)]
pub enum CacheAction {
    /// Print what the cache has, what it takes of the disk and when it was used last
    List(CacheListArguments),
    /// Remove what was not used for longest, until the cache takes no more than a size; what a process uses and imported stacks stay
    Prune(CachePruneArguments),
    /// Remove things by name; quiclab makes them again when it needs them, except for imported stacks
    Remove(CacheRemoveArguments),
}

/// Arguments of `quiclab cache list`.
#[derive(Debug, Args)]
pub struct CacheListArguments {
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `quiclab cache prune`.
#[derive(Debug, Args)]
pub struct CachePruneArguments {
    /// What the cache may take of the disk afterwards, such as 10GB; 0B removes everything that can be removed
    #[arg(long, value_name = "SIZE")]
    pub keep: ByteCount,
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub output: Output,
}

/// Arguments of `quiclab cache remove`.
#[derive(Debug, Args)]
pub struct CacheRemoveArguments {
    /// Names as quiclab cache prints them
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub output: Output,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_read_with_and_without_a_space() {
        for text in ["10GB", "10 GB"] {
            assert_eq!(text.parse(), Ok(ByteCount::from_bytes(10_000_000_000)));
        }
        assert_eq!("0B".parse(), Ok(ByteCount::from_bytes(0)));
        assert!("10".parse::<ByteCount>().is_err());
    }
}
