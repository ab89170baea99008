//! `quiclab report`

use anyhow::Result;

use crate::{cli::ReportArguments, output, results::Results};

/// Makes the report of a folder again and prints its table.
///
/// # Errors
/// Where the folder holds no results, or a record cannot be read.
pub fn report(arguments: &ReportArguments) -> Result<u8> {
    let results = Results::open(&arguments.folder)?;
    let written = results.report()?;
    if arguments.output.json {
        output::print(&quiclab_report::render_json(&written.input))?;
    } else {
        output::print(&quiclab_report::render_terminal(&written.input, output::terminal_width()))?;
        eprintln!("page with pictures: {}", written.page.display());
    }
    Ok(0)
}
