//! The verbs by what people do with them, as `quiclab --help` shows them.

use std::fmt::Write as _;

use clap::CommandFactory;

use super::Cli;

/// Verbs of the first hour, and then all others, by what they are for. `tools` is hidden; a line below them names its commands.
const GROUPS: &[(&str, &[&str])] = &[
    ("The first hour", &["doctor", "run", "look", "analyze", "ab"]),
    ("Measure", &["perf", "interop", "campaign"]),
    ("Compare", &["diff", "check", "verify"]),
    ("Look", &["ls", "report", "packets"]),
    ("Handshakes", &["scan", "advise"]),
    ("Stacks and machine", &["stacks", "bundle", "cache", "help"]),
];
/// More columns than these are hard to read.
const MOST_COLUMNS: usize = 100;
/// The verb with what scripts call.
const TOOLS: &str = "tools";
/// Columns of a terminal that is as narrow as they are.
const WIDTH: usize = 80;
/// Column in which what a verb does begins.
const INDENT: usize = 14;

/// Returns the command line, whose help shows verbs in groups.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let mut text = String::from("{about}\n\n{usage-heading} {usage}\n");
    for (title, verbs) in GROUPS {
        let _ = write!(text, "\n{title}:\n");
        for verb in *verbs {
            let about = command.find_subcommand(verb).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = write!(text, "  {verb:width$}", width = INDENT - 2);
            text += &wrapped(&about);
        }
    }
    let tools = command.find_subcommand(TOOLS).into_iter().flat_map(clap::Command::get_subcommands);
    let tools: Vec<_> = tools.filter(|tool| !tool.is_hide_set()).map(clap::Command::get_name).collect();
    let _ = write!(text, "\nCalled by scripts:\n  quiclab {TOOLS} {}\n", tools.join(" | "));
    text += "\nOptions:\n{options}{after-help}";
    command.help_template(text).max_term_width(MOST_COLUMNS)
}

/// Breaks a text that begins in the column [`INDENT`] into lines.
fn wrapped(text: &str) -> String {
    let (mut lines, mut column) = (String::new(), INDENT);
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > INDENT && column + 1 + length > WIDTH {
            let _ = write!(lines, "\n{:INDENT$}", "");
            column = INDENT;
        } else if column > INDENT {
            lines.push(' ');
            column += 1;
        }
        lines += word;
        column += length;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// More than these a newcomer does not read.
    const MOST_SHOWN: usize = 20;

    #[test]
    fn every_verb_that_is_shown_is_in_one_group() {
        let command = command();
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let shown: BTreeSet<_> = shown.map(clap::Command::get_name).collect();
        let grouped: Vec<_> = GROUPS.iter().flat_map(|(_, verbs)| *verbs).copied().collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), shown);
        assert_eq!(grouped.len(), shown.len(), "a verb in two groups");
        assert!(shown.len() <= MOST_SHOWN, "{} verbs", shown.len());
    }

    #[test]
    fn the_list_of_verbs_fits_a_narrow_terminal() {
        let help = command().render_help().to_string();
        let (_, verbs) = help.split_once("The first hour:").unwrap();
        let (verbs, options) = verbs.split_once("\nOptions:\n").unwrap();
        assert!(verbs.lines().all(|line| line.chars().count() <= WIDTH), "{verbs}");
        assert!(verbs.contains("\n  run         Run an experiment;") && options.contains("--version"), "{help}");
    }
}
