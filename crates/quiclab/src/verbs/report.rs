//! `quiclab report`

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, bail};
use quiclab_metrics::PacketFacts;
use quiclab_pages::{
    figure_files, folder,
    ladder::pages::{self, LADDERS_FOLDER},
    results::{Ladders, Results, models::report_of_one, traces},
    run_page,
    transfer::{losses::lost, page},
};
use quiclab_record::{AnyRecord, ModelsRecord, Record, layout::RUN_FILE};
use quiclab_report::{AnyReport, ReportInput, RunPage, RunRow, render_look_html};
use quiclab_units::ShowPath;

use crate::{
    session::signals,
    settings::ReportSettings,
    terminal::{output, progress},
};

/// Makes the report of a folder again and prints its table, or the page of one record.
///
/// # Errors
/// Where the folder holds no results, or a record cannot be read.
pub fn report(settings: &ReportSettings) -> Result<u8> {
    if settings.folder.join(RUN_FILE).is_file() {
        if settings.parquet {
            write_trace(&settings.folder)?;
        }
        return match AnyRecord::load(&settings.folder)? {
            AnyRecord::Transfer(record) => report_transfer(settings, *record),
            AnyRecord::Models(record) => report_models(settings, *record),
        };
    }
    let results = Results::open(&settings.folder, progress::say)?;
    let written = results.report(if settings.ladders { Ladders::All } else { Ladders::Default }, settings.pages)?;
    print(&written.input, settings)?;
    if settings.parquet {
        traces::write_all(&settings.folder, &written.input, &*signals::stop_flag()?, progress::say)?;
    }
    if !settings.json {
        status!("page with figures: {}", written.page.shown());
    }
    // Last, because they need a program that may be missing.
    if let Some(into) = &settings.figures {
        status!("{}", figure_files::write_all(into, results.records.folder(), &written.input)?);
    }
    Ok(0)
}

/// The packets, frames and events of one record, among those of its folder.
fn write_trace(record: &Path) -> Result<()> {
    let record = record.canonicalize().with_context(|| record.shown().to_string())?;
    let (Some(folder), Some(name)) = (record.parent(), record.file_name().and_then(|name| name.to_str())) else {
        bail!("{}: found no folder with a name, expected a record", record.shown());
    };
    traces::write(folder, &[name.to_owned()], &*signals::stop_flag()?, progress::say)
}

/// One record of models: its numbers, and a page with every series over time.
fn report_models(settings: &ReportSettings, record: ModelsRecord) -> Result<u8> {
    let command = format!("quiclab report {}", settings.folder.shown());
    let report = report_of_one(record, command);
    let (folder, name) = run_page::place(&settings.folder)?;
    fs::create_dir_all(&folder).with_context(|| folder.shown())?;
    let written = folder::write(&folder, &name, report.html(&BTreeMap::new()))?;
    print(&report, settings)?;
    status!("the run over time: {}", written.shown());
    if let Some(figures) = &settings.figures {
        status!("{}", figure_files::write(figures, &report.figures())?);
    }
    Ok(0)
}

/// One record of a transfer: its numbers, and its page.
fn report_transfer(settings: &ReportSettings, record: Record) -> Result<u8> {
    let Some(page) = run_page::read(&record)? else {
        bail!(
            "{}: found no packets of the server, expected a capture of a transfer\nhint: tap.enabled = true captures them",
            settings.folder.shown()
        );
    };
    let (folder, name) = run_page::place(&settings.folder)?;
    let ladder = write_ladder(&record, &folder, &name)?;
    let (look, facts) = write_look(&settings.folder, &folder, &name)?;
    let page = RunPage { ladder, look, facts, ..page };
    let written = run_page::write(&page, &folder, &name)?;
    let figure = settings.figures.as_ref().map(|into| {
        let svg = quiclab_report::render_run_svg(&page);
        (into, [(format!("run-{}", page.record), svg)])
    });
    let row = RunRow {
        folder: page.record,
        run: record.run.run,
        versions: record.run.versions,
        started_unix_ms: record.observed.machine.as_ref().map(|machine| machine.started_unix_ms),
        metrics: record.metrics,
        packets: None,
        congestion_window: None,
        lost: lost(&record.observed.path),
        path: page.path,
        packet_summary: None,
    };
    let input = ReportInput {
        experiment: row.run.experiment.clone(),
        title: format!("one run, {}", row.folder),
        source: None,
        command: format!("quiclab report {}", settings.folder.shown()),
        ranking: false,
        runs: vec![row],
        failures: Vec::new(),
        published: Vec::new(),
        expectations: Vec::new(),
        expectations_left_out: Vec::new(),
        looks: None,
        until: None,
        figures: Vec::new(),
        ladders: BTreeMap::new(),
        machine: None,
    };
    print(&AnyReport::Transfers(Box::new(input)), settings)?;
    status!("the run over time: {}", written.shown());
    if let Some((into, figure)) = figure {
        status!("{}", figure_files::write(into, &figure)?);
    }
    Ok(0)
}

/// Writes the handshake of a record where its page goes, or beside that in a folder of results; gives the link from the page. `None` where there is
/// none.
fn write_ladder(record: &Record, folder: &Path, name: &str) -> Result<Option<String>> {
    let Some(ladder) = pages::of_record(record)? else { return Ok(None) };
    let is_of_results = folder.ends_with(run_page::PAGES_FOLDER);
    let (into, name, link) = match folder.parent().filter(|_| is_of_results) {
        Some(results) => (results.join(LADDERS_FOLDER), name.to_owned(), format!("../{LADDERS_FOLDER}/{name}")),
        None => {
            let name = format!("{}-handshake.html", name.trim_end_matches(".html"));
            (folder.to_owned(), name.clone(), name)
        }
    };
    let written = pages::write(&ladder, &into, &name)?;
    status!("its handshake, datagram by datagram: {}", written.shown());
    Ok(Some(link))
}

/// Writes the page with the packets of a record beside its page; gives the link to it, and what its packets tell.
fn write_look(record: &Path, folder: &Path, name: &str) -> Result<(Option<String>, Option<PacketFacts>)> {
    let Some(seen) = page::of_record(record)? else { return Ok((None, None)) };
    let name = format!("{}-look.html", name.trim_end_matches(".html"));
    fs::create_dir_all(folder).with_context(|| folder.shown())?;
    let written = folder::write(folder, &name, render_look_html(&[seen.transfer]))?;
    status!("its packets: {}", written.shown());
    Ok((Some(name), seen.facts))
}

fn print(report: &AnyReport, settings: &ReportSettings) -> Result<()> {
    output::print(&if settings.json {
        report.json()
    } else if settings.markdown {
        report.markdown_brief()
    } else {
        report.terminal(output::terminal_width())
    })
}
