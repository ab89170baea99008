//! `quiclab ls`

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use anyhow::{Result, bail};
use comfy_table::CellAlignment;
use quiclab_pages::{
    folder::holds_results,
    results::overview::{ResultsOverview, RunOverview, find_results, of_results, of_runs},
};
use quiclab_record::layout::RUN_FILE;
use quiclab_units::ShowPath;
use serde_json::{Value, json};

use crate::terminal::{ages::ago, output, progress};

/// Version of the JSON. Changes when a field changes its meaning, its unit or its name.
const SCHEMA: u32 = 1;

/// Lists folders of results, and the runs of a folder that is named itself. Returns 0, also where a folder cannot be read among others that can.
///
/// # Errors
/// Where there are no results, or those of a folder that is named cannot be read.
pub fn ls(folders: &[PathBuf], as_json: bool) -> Result<u8> {
    let mut listed: Vec<(ResultsOverview, Option<Vec<RunOverview>>)> = Vec::new();
    for folder in folders {
        if folder.join(RUN_FILE).is_file() {
            let shown = folder.shown();
            bail!(
                "{shown}: found a record, expected a folder of results or one above such folders\n\
                 hint: quiclab report {shown} shows its numbers, quiclab look {shown} its packets over time"
            );
        }
        if holds_results(folder) {
            listed.push((of_results(folder)?, Some(of_runs(folder, progress::say)?)));
            continue;
        }
        for place in find_results(folder)? {
            match of_results(&place) {
                Ok(overview) => listed.push((overview, None)),
                // One that a newer version wrote does not hide all others.
                Err(error) => status!("quiclab: not listed: {error:#}"),
            }
        }
    }
    if as_json {
        let rows = listed.iter().map(|(overview, runs)| as_value(overview, runs.as_deref()));
        let all = json!({ "schema": SCHEMA, "results": rows.collect::<Result<Vec<_>>>()? });
        output::print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
        return Ok(0);
    }
    let (with_runs, without): (Vec<_>, Vec<_>) = listed.iter().partition(|(_, runs)| runs.is_some());
    for (overview, runs) in with_runs {
        print_runs(overview, runs.as_deref().unwrap_or_default())?;
    }
    if !without.is_empty() {
        print_folders(without.iter().map(|(overview, _)| overview))?;
    }
    Ok(0)
}

fn as_value(overview: &ResultsOverview, runs: Option<&[RunOverview]>) -> Result<Value> {
    let mut value = serde_json::to_value(overview)?;
    if let (Some(runs), Some(fields)) = (runs, value.as_object_mut()) {
        fields.insert("runs".to_owned(), serde_json::to_value(runs)?);
    }
    Ok(value)
}

fn print_folders<'a>(folders: impl Iterator<Item = &'a ResultsOverview>) -> Result<()> {
    let mut table = output::table(["folder", "runs", "written", "what"]);
    for overview in folders {
        table.add_row([overview.folder.shown(), runs_in_words(overview), age(overview), overview.title.clone()]);
    }
    output::print(&format!("{table}\n"))
}

/// The number of runs, and what is missing of the plan.
fn runs_in_words(overview: &ResultsOverview) -> String {
    let ResultsOverview { runs_planned, runs_with_record, runs_failed, .. } = overview;
    let mut words = match runs_with_record == runs_planned {
        true => runs_planned.to_string(),
        false => format!("{runs_with_record} of {runs_planned}"),
    };
    if *runs_failed > 0 {
        words += &format!(", {runs_failed} failed");
    }
    words
}

fn age(overview: &ResultsOverview) -> String {
    let written = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(overview.written_unix_seconds));
    ago(written.and_then(|written| written.elapsed().ok()).unwrap_or_default().as_secs())
}

fn print_runs(overview: &ResultsOverview, runs: &[RunOverview]) -> Result<()> {
    let mut table = output::table(["record", "on", "Mbit/s", "drops", "warnings"]);
    for column in [2, 3] {
        table.column_mut(column).expect("there are five columns").set_cell_alignment(CellAlignment::Right);
    }
    for run in runs {
        let unknown = || "-".to_owned();
        let last = match &run.failure {
            Some(failure) => format!("failed: {}", failure.lines().next().unwrap_or_default()),
            None => run.warnings.join(", "),
        };
        table.add_row([
            run.record.clone(),
            run.testbed.clone().unwrap_or_default(),
            run.goodput_wire_bps.map_or_else(unknown, |bps| format!("{:.2}", bps / 1e6)),
            run.drops_packets.map_or_else(unknown, |drops| drops.to_string()),
            last,
        ]);
    }
    output::print(&format!("{}: {}\n{table}\n", overview.experiment, overview.title))?;
    let shown = overview.folder.shown();
    status!("{shown}: {} runs, written {} by {}", runs_in_words(overview), age(overview), overview.command);
    if let Some(first) = runs.iter().find(|run| run.failure.is_none()) {
        let record = path_below(&overview.folder, &first.record);
        status!("quiclab report {shown} makes the page; quiclab look {record} shows the packets of a run over time");
    }
    Ok(())
}

fn path_below(folder: &Path, name: &str) -> String {
    folder.join(name).shown()
}
