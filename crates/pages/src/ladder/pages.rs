//! Pages with the handshakes of runs: of a record, and of a folder of results.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use quiclab_experiment::{AnyRun, run::Run};
use quiclab_inputs::open_regular;
use quiclab_metrics::RunMetrics;
use quiclab_record::{Observed, Record, RunFile, layout::CAPTURE_FILE, read_observed};
use quiclab_report::{Ladder, LadderRun, render_ladder_html};
use quiclab_units::ShowPath;
use quiclab_wire::DissectorSettings;

use super::{dropped, logged, read};
use crate::{folder, path_summary};

/// Where ladders are, in a folder of results.
pub const LADDERS_FOLDER: &str = "ladders";

/// The handshakes of a record; `None` where nothing was captured, or no QUIC connection begins in it.
///
/// # Errors
/// Where the capture cannot be read.
pub fn of_record(record: &Record) -> Result<Option<Ladder>> {
    of_run(&record.folder, &record.run.run, &record.observed, Some(&record.metrics), None)
}

/// The same of what was kept of a run that failed. `None` also where that is not enough.
///
/// # Errors
/// Where the capture cannot be read.
pub fn of_failure(folder: &Path, message: &str) -> Result<Option<Ladder>> {
    let Ok(file) = RunFile::<AnyRun>::read_any(folder) else { return Ok(None) };
    let (AnyRun::Transfer(run), Ok(observed)) = (file.run, read_observed(folder, None)) else { return Ok(None) };
    of_run(folder, &run, &observed, None, Some(message.to_owned()))
}

fn of_run(
    folder: &Path,
    run: &Run,
    observed: &Observed,
    metrics: Option<&RunMetrics>,
    failure: Option<String>,
) -> Result<Option<Ladder>> {
    let capture = folder.join(CAPTURE_FILE);
    if !capture.is_file() {
        return Ok(None);
    }
    let settings = DissectorSettings { server_port: Some(observed.server_port), interfaces_are_one_tap: false };
    let mut ladder = read(&capture, open_regular, &[], settings)?;
    if ladder.connections.is_empty() {
        return Ok(None);
    }
    dropped::name(&mut ladder, run, observed);
    logged::add(&mut ladder, folder);
    ladder.title = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    ladder.run = Some(LadderRun {
        run: run.clone(),
        metrics: metrics.cloned(),
        path: path_summary::summary(run, observed),
        failure,
    });
    Ok(Some(ladder))
}

/// Writes a page, in a folder that is made if it is not there.
///
/// # Errors
/// Where it cannot be written.
pub fn write(ladder: &Ladder, into: &Path, name: &str) -> Result<PathBuf> {
    fs::create_dir_all(into).with_context(|| into.shown())?;
    folder::write(into, name, render_ladder_html(ladder))
}
