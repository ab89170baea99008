//! Arguments of the verbs that explain and complete quiclab.

use clap::{Args, ValueEnum};

use super::setting_values;

/// Arguments of `quiclab help`.
#[derive(Debug, Args)]
#[command(after_help = HELP_HELP)]
pub struct HelpArguments {
    /// A verb such as run or stacks list, or a topic [default: all verbs, and the list of topics]
    #[arg(value_name = "TOPIC", add = setting_values::topics())]
    pub topic: Vec<String>,
}

const HELP_HELP: &str = "\
Examples:
  quiclab help run                                          a verb
  quiclab help metrics                                      a topic
  quiclab help pacing                                       topics whose pages have this word";

/// Arguments of `quiclab tools completions`.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub struct CompletionsArguments {
    /// The shell
    pub shell: Shell,
}

const COMPLETIONS_HELP: &str = "\
Examples:
  source <(quiclab tools completions bash)
  quiclab tools completions zsh > ~/.zfunc/_quiclab
  quiclab tools completions fish > ~/.config/fish/completions/quiclab.fish";

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
