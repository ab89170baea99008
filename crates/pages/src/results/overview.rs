//! What folders of results hold, in a few lines: for lists.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context, Result, bail};
use quiclab_report::AnyReport;
use quiclab_testbed::{sim::testbed::NAME as SIMULATOR, testbed::TESTBED_VERSION};
use quiclab_units::ShowPath;
use serde::Serialize;

use super::{Index, Results, models::is_former};
use crate::folder::{INDEX_FILE, holds_results};

/// Results lie no deeper below a folder that is named.
const DEEPEST: usize = 6;

/// The folders of results at `folder` or below it, in order of name.
///
/// # Errors
/// Where there are none, or a folder cannot be read.
pub fn find_results(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut places = Vec::new();
    find(folder, DEEPEST, &mut places)?;
    if places.is_empty() {
        bail!(
            "{}: found no results, expected those of an experiment\nhint: quiclab run FILE makes them",
            folder.shown()
        );
    }
    Ok(places)
}

fn find(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    if holds_results(folder) || is_former(folder) {
        found.push(folder.to_path_buf());
        return Ok(());
    }
    let entries = fs::read_dir(folder).with_context(|| folder.shown())?;
    let mut below: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    below.sort();
    match depth.checked_sub(1) {
        Some(depth) => below.iter().try_for_each(|folder| find(folder, depth, found)),
        None => Ok(()),
    }
}

/// A folder of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResultsOverview {
    /// Path of the folder.
    pub folder: PathBuf,
    /// Name of the experiment.
    pub experiment: String,
    /// Title of the experiment.
    pub title: String,
    /// `transfer` or `models`.
    pub kind: String,
    /// Runs of the plan.
    pub runs_planned: usize,
    /// Runs that have a record.
    pub runs_with_record: usize,
    /// Runs that failed, or whose stack could not be built.
    pub runs_failed: usize,
    /// Seconds since 1970 when the index was written last.
    pub written_unix_seconds: u64,
    /// The command that filled the folder.
    pub command: String,
}

/// Reads what a folder of results holds, without reading its records.
///
/// # Errors
/// Where there is no index, or one that cannot be read.
pub fn of_results(folder: &Path) -> Result<ResultsOverview> {
    let results = Results::open(folder, |_| ())?;
    let index = Index::read(folder)?;
    let by_id = results.records.by_id()?;
    let is_there = |name: &&String| results.present(&by_id, name).is_some();
    let (with_record, others): (Vec<_>, Vec<_>) = index.records.iter().partition(is_there);
    let failed = others.into_iter().filter(|name| results.failures().join(name).is_dir()).count();
    let place = folder.join(INDEX_FILE);
    let written = fs::metadata(&place).and_then(|facts| facts.modified()).with_context(|| place.shown())?;
    Ok(ResultsOverview {
        folder: folder.to_owned(),
        runs_planned: index.records.len() + index.missing_stacks.len(),
        runs_with_record: with_record.len(),
        runs_failed: failed + index.missing_stacks.len(),
        written_unix_seconds: written.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        experiment: index.experiment,
        title: index.title,
        kind: index.kind,
        command: index.command,
    })
}

/// A run of a folder of results. `None`: not known, or nothing of that kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunOverview {
    /// Name of its record, or of what is kept of its failure.
    pub record: String,
    /// The testbed it ran on.
    pub testbed: Option<String>,
    /// Number of the repetition, from 1.
    pub repetition: Option<u32>,
    /// The number that everything random followed from.
    pub seed: Option<u64>,
    /// Goodput on the wire, in bit/s, as in the metric of this name.
    pub goodput_wire_bps: Option<f64>,
    /// Packets that the bottleneck dropped, as in the metric of this name.
    pub drops_packets: Option<u64>,
    /// Codes of its warnings.
    pub warnings: Vec<String>,
    /// Why it failed.
    pub failure: Option<String>,
}

/// The runs of a folder of results that have a record or failed, in the order of the plan, those that failed last. `say` is called with what is
/// not counted.
///
/// # Errors
/// Where the index or a record cannot be read.
pub fn of_runs(folder: &Path, say: fn(&str)) -> Result<Vec<RunOverview>> {
    let report = Results::open(folder, say)?.measured()?;
    let empty = |record: &str| RunOverview {
        record: record.to_owned(),
        testbed: None,
        repetition: None,
        seed: None,
        goodput_wire_bps: None,
        drops_packets: None,
        warnings: Vec::new(),
        failure: None,
    };
    let mut runs: Vec<_> = match &report {
        AnyReport::Transfers(input) => input
            .runs
            .iter()
            .map(|row| RunOverview {
                testbed: row.versions.get(TESTBED_VERSION).cloned(),
                repetition: Some(row.run.repetition),
                seed: Some(row.run.seed),
                goodput_wire_bps: row.metrics.metrics.goodput_wire_bps,
                drops_packets: row.metrics.metrics.drops_packets,
                warnings: row.metrics.warnings.iter().map(|warning| warning.code.to_string()).collect(),
                ..empty(&row.folder)
            })
            .collect(),
        AnyReport::Models(report) => report
            .runs
            .iter()
            .map(|row| RunOverview {
                testbed: Some(SIMULATOR.to_owned()),
                repetition: Some(row.repetition),
                seed: Some(row.seed),
                ..empty(&row.folder)
            })
            .collect(),
    };
    runs.extend(
        report.failures().iter().map(|row| RunOverview { failure: Some(row.message.clone()), ..empty(&row.folder) }),
    );
    Ok(runs)
}
