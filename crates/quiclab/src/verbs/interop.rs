//! `quiclab interop`: every server against every client, judged by their packets.

mod judged;
mod selection;

use std::{
    collections::BTreeMap,
    sync::atomic::Ordering,
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Result;
use quiclab_experiment::AnyRun;
use quiclab_interop::{Matrix, Verdict};
use quiclab_pages::{
    folder,
    results::{FAILURES_FOLDER, Results},
};
use quiclab_report::{RunnerInfo, render_interop_html, render_interop_json, render_interop_terminal};
use quiclab_testbed::perform::{Interrupted, Performed};
use quiclab_trials::verdict::in_words;
use rayon::prelude::*;
use serde_json::json;

use crate::{
    session::{
        laboratory::open,
        schedule::{Job, perform_all},
        signals,
    },
    settings::InteropSettings,
    terminal::{output, progress},
};

/// The whole result, for programs.
const MATRIX_FILE: &str = "matrix.json";
/// The result as the page of the QUIC Interop Runner takes it.
const RUNNER_FILE: &str = "result.json";
/// The result for people.
const PAGE_FILE: &str = "interop.html";

/// Runs what has no result yet, judges everything, and shows the matrix. Returns the number of pairs and cases that failed, at
/// most 99.
///
/// # Errors
/// An unknown name, a missing program, an interruption.
pub fn interop(settings: &InteropSettings) -> Result<u8> {
    let stop = signals::stop_flag()?;
    let laboratory = open(&settings.stacks, stop.clone())?;
    let mut selection = selection::select(settings, &laboratory)?;
    let begin = unix_seconds();
    let results = Results::create(&settings.out, stop.clone(), progress::say)?;
    results.remove_leftovers()?;
    let timeout = settings.wall_timeout;
    let runs: Vec<_> =
        selection.pairings.iter().filter_map(|pairing| pairing.run.clone().ok()).map(AnyRun::from).collect();
    let missing = laboratory.prepare(&runs, timeout)?;
    selection.leave_out(missing.keys());
    let mut jobs = Vec::new();
    let mut cases = BTreeMap::new();
    for pairing in &mut selection.pairings {
        let Ok(run) = pairing.run.clone().map(AnyRun::from) else { continue };
        let name = run.folder_name(&laboratory.versions(&run)?);
        pairing.record = Some(name.clone());
        if !judged::is_there(&settings.out, &name)? {
            cases.insert(name.clone(), pairing.case);
            jobs.push(Job { run, name, label: pairing.label() });
        }
    }
    let all = selection.pairings.iter().filter(|pairing| pairing.record.is_some()).count();
    status!("quiclab: {all} runs; {} already have a result", all - jobs.len());
    let workers = settings.jobs.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from);
    let hosts = (0..workers).map(|worker| laboratory.host(worker, timeout)).collect::<Result<Vec<_>>>()?;
    let tell = |job: &Job, _: &Performed| in_words(cases[&job.name], &settings.out.join(&job.name));
    perform_all(&laboratory, &hosts, &results, &tell, |feed| {
        feed.expect(jobs.len());
        jobs.iter().enumerate().for_each(|(place, job)| feed.push(place, job.clone()));
        Ok(())
    })?;
    if stop.load(Ordering::Relaxed) {
        return Err(Interrupted::ByRequest.into());
    }
    let mut matrix = Matrix::new(selection.servers, selection.clients, selection.cases, begin);
    matrix.entries = selection.pairings.par_iter().map(|pairing| judged::entry(pairing, &settings.out)).collect();
    matrix.left_out = missing;
    matrix.end_unix_s = unix_seconds();
    show(settings, &matrix)
}

fn show(settings: &InteropSettings, matrix: &Matrix) -> Result<u8> {
    let folder = &settings.out;
    let write = |name: &str, text: String| folder::write(folder, name, &text);
    write(MATRIX_FILE, matrix.to_json())?;
    let info = RunnerInfo { log_dir: folder.display().to_string(), ..RunnerInfo::default() };
    write(RUNNER_FILE, render_interop_json(matrix, &info))?;
    write(PAGE_FILE, render_interop_html(matrix))?;
    if settings.json {
        let matrix: serde_json::Value = serde_json::from_str(&matrix.to_json())?;
        output::print(&(serde_json::to_string_pretty(&json!(matrix))? + "\n"))?;
    } else {
        output::print(&render_interop_terminal(matrix, output::terminal_width()))?;
    }
    status!("page: {}", folder.join(PAGE_FILE).display());
    status!("records: {0}, and {0}/{FAILURES_FOLDER} for runs that failed", folder.display());
    let is_failure = |verdict: &Verdict| matches!(verdict, Verdict::Failed { .. } | Verdict::CannotBeJudged { .. });
    let failed = matrix.entries.iter().filter(|entry| is_failure(&entry.verdict)).count();
    Ok(failed.min(99) as u8)
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
