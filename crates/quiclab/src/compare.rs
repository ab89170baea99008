//! `quiclab compare`

use anyhow::{Result, bail};

use crate::{cli::CompareArguments, output, results::Results};

/// Holds two folders of results against each other. Always returns 0: what differs is for people, or for `quiclab check`, to judge.
///
/// # Errors
/// Where one cannot be read, or no settings are in both.
pub fn compare(arguments: &CompareArguments) -> Result<u8> {
    let one = Results::open(&arguments.one)?.report_input()?;
    let other = Results::open(&arguments.other)?.report_input()?;
    let all = quiclab_report::render_comparison_json(&one, &other);
    if all["pairs"].as_array().is_none_or(Vec::is_empty) {
        bail!(
            "{} and {}: found no settings that are in both, expected some\nhint: results of the same experiment and profile",
            arguments.one.display(),
            arguments.other.display()
        );
    }
    if arguments.output.json {
        output::print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
    } else {
        output::print(&quiclab_report::render_comparison_terminal(&one, &other, output::terminal_width()))?;
    }
    Ok(0)
}
