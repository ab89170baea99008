//! `quiclab report`

use anyhow::Result;

use crate::{cli::ReportArguments, output, results::Results, simulate::results::SimulatedResults};

/// Makes the report of a folder again and prints its table.
///
/// # Errors
/// Where the folder holds no results, or a record cannot be read.
pub fn report(arguments: &ReportArguments) -> Result<u8> {
    if SimulatedResults::are_in(&arguments.folder) {
        return report_scenario(arguments);
    }
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

fn report_scenario(arguments: &ReportArguments) -> Result<u8> {
    let (input, page) = SimulatedResults::create(&arguments.folder)?.report()?;
    if arguments.output.json {
        output::print(&quiclab_report::render_scenario_json(&input))?;
    } else {
        output::print(&quiclab_report::render_scenario_terminal(&input, output::terminal_width()))?;
        eprintln!("page with pictures: {}", page.display());
    }
    Ok(0)
}
