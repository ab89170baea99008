//! `quiclab scan`: how servers answer handshakes, those in captures or those that it performs.

mod captures;
mod hooks;
mod show;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::Result;
use quiclab_pages::folder;
use quiclab_report::{render_scan_html, render_scan_markdown};
use quiclab_scan::survey::{self, OriginSettings, Origins, RowsFile, Summary};
use quiclab_units::ShowPath;

use crate::{
    session::signals,
    settings::{CaptureSettings, ScanAction, ScanRequest},
    terminal::output,
};
use hooks::CommandHooks;

/// Performs handshakes or finds them, and says how the servers answered. Returns 0, or 1 where a capture was cut off.
///
/// # Errors
/// A file that cannot be read or written, an interruption.
pub fn scan(request: &ScanRequest) -> Result<u8> {
    let stop = signals::stop_flag()?;
    let (summary, was_cut) = match &request.action {
        ScanAction::Report { rows, html } => return report(rows, html.as_deref()).map(|()| 0),
        ScanAction::Plan { lists, targets, hello_bytes, rate } => {
            let plan = survey::plan(lists.iter().map(PathBuf::as_path), targets, *hello_bytes, *rate, &CommandHooks)?;
            match request.json {
                true => output::print(&(serde_json::to_string_pretty(&plan)? + "\n"))?,
                false => output::print(&show::plan(&plan, *rate))?,
            }
            return Ok(0);
        }
        ScanAction::Once { survey, list } => (survey::ask_once(survey, list, &stop, &CommandHooks)?, false),
        ScanAction::Repeatedly { survey, groups, duration } => {
            (survey::ask_repeatedly(survey, groups, *duration, &stop, &CommandHooks)?, false)
        }
        ScanAction::Captures { captures, origins } => of_captures(captures, origins, &stop)?,
    };
    if request.json {
        output::print(&(serde_json::to_string_pretty(&summary.to_json())? + "\n"))?;
    } else {
        output::print(&show::summary(&summary))?;
    }
    Ok(u8::from(was_cut))
}

/// Prints tables of the rows of earlier scans, and writes the page with the figures.
fn report(paths: &[PathBuf], html: Option<&Path>) -> Result<()> {
    let names = paths.iter().map(|it| it.display().to_string()).collect::<Vec<_>>().join(" ");
    let report = survey::report(paths, format!("quiclab scan --report {names}"))?;
    if let Some(page) = html {
        folder::write_at(page, render_scan_html(&report))?;
        status!("page with figures: {}", page.shown());
    }
    output::print(&render_scan_markdown(&report))
}

fn of_captures(
    settings: &CaptureSettings,
    origins: &OriginSettings,
    stop: &Arc<AtomicBool>,
) -> Result<(Summary, bool)> {
    let origins = Origins::read(origins, &CommandHooks)?;
    let mut summary = Summary::default();
    let mut file = settings.rows.as_deref().map(RowsFile::create).transpose()?;
    let was_cut = captures::read(settings, stop, &mut |mut row| {
        origins.complete(&mut row);
        summary.add(&row);
        file.as_mut().map_or(Ok(()), |file| file.add(&row))
    })?;
    if let Some(file) = file {
        file.finish()?;
    }
    Ok((summary, was_cut))
}
