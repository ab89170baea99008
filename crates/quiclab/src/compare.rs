//! `quiclab compare`

use anyhow::{Result, bail};

use crate::{cli::CompareArguments, output, results::Results};

/// Holds two folders of results against each other. Always returns 0: what differs is for people, or for `quiclab check`, to judge.
///
/// # Errors
/// Where one cannot be read, or no settings are in both.
pub fn compare(arguments: &CompareArguments) -> Result<u8> {
    let one = Results::open(&arguments.one)?.measured()?;
    let other = Results::open(&arguments.other)?.measured()?;
    let rendered = if arguments.output.json {
        quiclab_report::render_comparison_json(&one, &other)
    } else {
        quiclab_report::render_comparison_terminal(&one, &other, output::terminal_width())
    };
    let Some(text) = rendered else {
        bail!(
            "{} and {}: found no settings that are in both, expected some\nhint: results of the same experiment and profile",
            arguments.one.display(),
            arguments.other.display()
        );
    };
    output::print(&text)?;
    Ok(0)
}
