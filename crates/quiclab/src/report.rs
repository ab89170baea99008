//! `quiclab report`

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use quiclab_record::{Record, layout::RUN_FILE};
use quiclab_report::{ReportInput, RunRow};

use crate::{cli::ReportArguments, folder, output, results::Results, run_page, simulate::results::SimulatedResults};

/// Makes the report of a folder again and prints its table, or the page of one record.
///
/// # Errors
/// Where the folder holds no results, or a record cannot be read.
pub fn report(arguments: &ReportArguments) -> Result<u8> {
    if SimulatedResults::are_in(&arguments.folder) {
        return report_scenario(arguments);
    }
    if arguments.folder.join(RUN_FILE).is_file() {
        return report_run(arguments);
    }
    let results = Results::open(&arguments.folder)?;
    let written = results.report()?;
    print(&written.input, arguments)?;
    if let Some(figures) = &arguments.figures {
        let mut files = quiclab_report::render_figures(&written.input);
        for run in written.input.runs.iter().filter(|run| run.packets.is_some()) {
            let page = run_page::read(&results.records.load(&run.folder)?)?;
            files.extend(page.map(|page| (format!("run-{}", run.folder), quiclab_report::render_run_svg(&page))));
        }
        write_figures(figures, &files)?;
    }
    if !arguments.output.json {
        eprintln!("page with figures: {}", written.page.display());
    }
    Ok(0)
}

/// One record: its numbers, and its page.
fn report_run(arguments: &ReportArguments) -> Result<u8> {
    let record = Record::load(&arguments.folder)?;
    let Some(page) = run_page::read(&record)? else {
        bail!(
            "{}: found no packets of the server, expected a capture of a transfer\nhint: tap.enabled = true captures them",
            arguments.folder.display()
        );
    };
    let (folder, name) = run_page::place(&arguments.folder)?;
    let written = run_page::write(&page, &folder, &name)?;
    if let Some(figures) = &arguments.figures {
        write_figures(figures, &[(format!("run-{}", page.record), quiclab_report::render_run_svg(&page))])?;
    }
    let row = RunRow {
        folder: page.record,
        run: record.run.run,
        versions: record.run.versions,
        metrics: record.metrics,
        packets: None,
        congestion_window: None,
    };
    let input = ReportInput {
        experiment: row.run.experiment.clone(),
        title: format!("one run, {}", row.folder),
        source: None,
        command: format!("quiclab report {}", arguments.folder.display()),
        ranking: false,
        runs: vec![row],
        failures: Vec::new(),
        published: Vec::new(),
        expectations: Vec::new(),
        expectations_left_out: Vec::new(),
    };
    print(&input, arguments)?;
    eprintln!("the run over time: {}", written.display());
    Ok(0)
}

fn print(input: &ReportInput, arguments: &ReportArguments) -> Result<()> {
    output::print(&if arguments.output.json {
        quiclab_report::render_json(input)
    } else if arguments.markdown {
        quiclab_report::render_markdown_brief(input)
    } else {
        quiclab_report::render_terminal(input, output::terminal_width())
    })
}

/// Writes figures by their names, without the ending.
fn write_figures(into: &Path, figures: &[(String, String)]) -> Result<()> {
    fs::create_dir_all(into).with_context(|| into.display().to_string())?;
    for (name, svg) in figures {
        folder::write(into, &format!("{name}.svg"), svg)?;
    }
    eprintln!("{} figures: {}", figures.len(), into.display());
    Ok(())
}

fn report_scenario(arguments: &ReportArguments) -> Result<u8> {
    if arguments.markdown || arguments.figures.is_some() {
        bail!(
            "{}: found results of a scenario; --markdown and --figures work only for transfers between stacks",
            arguments.folder.display()
        );
    }
    let (input, page) = SimulatedResults::create(&arguments.folder)?.report()?;
    if arguments.output.json {
        output::print(&quiclab_report::render_scenario_json(&input))?;
    } else {
        output::print(&quiclab_report::render_scenario_terminal(&input, output::terminal_width()))?;
        eprintln!("page with figures: {}", page.display());
    }
    Ok(0)
}
