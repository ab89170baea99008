//! Arguments of the verbs that explain, complete and show quiclab.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Arguments of `quiclab help`.
#[derive(Debug, Args)]
#[command(after_help = HELP_HELP)]
pub struct HelpArguments {
    /// A verb such as run or stacks list, or a topic [default: all verbs, and the list of topics]
    #[arg(value_name = "TOPIC")]
    pub topic: Vec<String>,
}

const HELP_HELP: &str = "\
Examples:
  quiclab help run                                          a verb
  quiclab help metrics                                      a topic
  quiclab help pacing                                       topics whose pages have this word";

/// Arguments of `quiclab completions`.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub struct CompletionsArguments {
    /// The shell
    pub shell: Shell,
}

const COMPLETIONS_HELP: &str = "\
Examples:
  source <(quiclab completions bash)
  quiclab completions zsh > ~/.zfunc/_quiclab
  quiclab completions fish > ~/.config/fish/completions/quiclab.fish";

/// A shell that quiclab can complete words for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU bash
    Bash,
    /// elvish
    Elvish,
    /// fish
    Fish,
    /// PowerShell
    Powershell,
    /// zsh
    Zsh,
}

/// Arguments of `quiclab demo`.
#[derive(Debug, Args)]
#[command(after_help = DEMO_HELP)]
pub struct DemoArguments {
    /// Folder for the records and the report
    #[arg(long, value_name = "DIR", default_value = "quiclab-demo")]
    pub out: PathBuf,
    /// Number of virtual machines in parallel; does not affect results [default: one per core]
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
}

const DEMO_HELP: &str = "\
Needs no repository and no privileges: an installed quiclab finds the experiment in its share folder.
Exit status: as that of quiclab run.";

/// Arguments of `quiclab man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// Folder for the pages
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}
