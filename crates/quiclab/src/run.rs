//! `quiclab run`

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::{Experiment, Overrides, Plan, labels};
use quiclab_metrics::Metrics;
use quiclab_report::metric_names;
use quiclab_testbed::{record::Records, vm::monitor::Interrupted};
use serde_json::{Value, json};

use crate::{
    cli::RunArguments,
    laboratory::{Laboratory, Prepared},
    output,
    results::{Index, Results},
    schedule::{Done, Job, perform_all, tell_goodput},
    signals,
};

/// Exit statuses above this have other meanings.
const MOST_FAILURES: usize = 99;

/// Runs experiments and reports on them. Returns the number of runs that failed, at most [`MOST_FAILURES`].
///
/// # Errors
/// A wrong file, a missing program, an interruption.
pub fn run(arguments: &RunArguments) -> Result<u8> {
    let stop = signals::stop_flag()?;
    let laboratory = Laboratory::open(&arguments.stacks, stop.clone())?;
    let files = experiment_files(&arguments.file)?;
    // All of them, before the first is run.
    let plans = files.iter().map(|file| plan(file, arguments, &laboratory)).collect::<Result<Vec<_>>>()?;
    if arguments.dry_run {
        return show_plans(&plans, arguments.output.json);
    }
    let mut failed = 0;
    let mut shown = Vec::new();
    for (file, plan) in files.iter().zip(&plans) {
        let (results, done) = perform(file, plan, arguments, &laboratory)?;
        if stop.load(Ordering::Relaxed) {
            return Err(Interrupted::ByRequest.into());
        }
        shown.extend(show(&results, &done, arguments.output.json)?);
        failed += done.failed;
    }
    if let [only] = &shown[..]
        && files.len() == 1
    {
        output::print(&(serde_json::to_string_pretty(only)? + "\n"))?;
    } else if arguments.output.json {
        output::print(&(serde_json::to_string_pretty(&shown)? + "\n"))?;
    }
    Ok(failed.min(MOST_FAILURES) as u8)
}

/// The experiment file that was named, or all in the folder that was, in order of name.
fn experiment_files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let entries = fs::read_dir(path).with_context(|| path.display().to_string())?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<_> = paths.filter(|path| path.extension().is_some_and(|kind| kind == "toml")).collect();
    files.sort();
    if files.is_empty() {
        bail!("{}: found a folder without .toml files, expected experiment files in it", path.display());
    }
    Ok(files)
}

fn perform(file: &Path, plan: &Plan, arguments: &RunArguments, laboratory: &Laboratory) -> Result<(Results, Done)> {
    let folder = match &arguments.out {
        Some(folder) if arguments.file.is_dir() => folder.join(own_folder(plan, arguments.profile.as_deref())),
        Some(folder) => folder.clone(),
        None => Path::new("results").join(own_folder(plan, arguments.profile.as_deref())),
    };
    if plan.left_out > 0 {
        eprintln!("quiclab: {}{}", plan.experiment, left_out(plan));
    }
    let results = Results::create(&folder)?;
    let _lock = results.lock()?;
    let patience = Duration::from_secs(arguments.wall_timeout);
    let prepared = laboratory.prepare(&plan.runs, patience)?;
    let jobs = jobs(plan, &prepared)?;
    let names = jobs.iter().map(|job| job.name.clone()).collect();
    results.write_index(&Index::new(plan, command_line(file, arguments), names, prepared.missing.clone()))?;
    let missing: Vec<Job> = jobs.iter().filter(|job| !results.has(&job.name)).cloned().collect();
    if missing.len() < jobs.len() {
        eprintln!("quiclab: {} of {} runs have a record already", jobs.len() - missing.len(), jobs.len());
    }
    let is_shared = arguments.out.is_none() || arguments.file.is_dir();
    let missing = if is_shared { adopt(&results, &folder, missing)? } else { missing };
    let hosts = (0..workers(arguments)).map(|worker| laboratory.host(worker, patience)).collect::<Result<Vec<_>>>()?;
    let done = perform_all(&prepared, &missing, &hosts, &results.records, &results.failures(), &tell_goodput);
    Ok((results, done))
}

/// Takes over what the experiments beside this one have performed already; returns what remains to be done.
fn adopt(results: &Results, folder: &Path, missing: Vec<Job>) -> Result<Vec<Job>> {
    let is_other = |path: &PathBuf| path.is_dir() && path.file_name() != folder.file_name();
    let entries = fs::read_dir(folder.parent().unwrap_or(Path::new(".")));
    let mut others: Vec<_> =
        entries.into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_other).collect();
    others.sort();
    let others = others.iter().map(|path| Records::open(path)).collect::<Result<Vec<_>>>()?;
    let wanted = missing.len();
    let mut left = Vec::new();
    for job in missing {
        match others.iter().find(|other| other.contains(&job.name)) {
            Some(other) => results.records.adopt(&job.name, other).map(drop)?,
            None => left.push(job),
        }
    }
    if left.len() < wanted {
        eprintln!("quiclab: {} runs have a record in an experiment beside this one", wanted - left.len());
    }
    Ok(left)
}

/// Prints the report of an experiment; as JSON it is returned.
fn show(results: &Results, done: &Done, json: bool) -> Result<Option<Value>> {
    let written = results.report()?;
    let mut told = None;
    if json {
        let report: Value = serde_json::from_str(&quiclab_report::render_json(&written.input))?;
        told = Some(json!({ "report": report, "performed": done.performed }));
    } else {
        output::print(&quiclab_report::render_terminal(&written.input, output::terminal_width()))?;
    }
    eprintln!("page with pictures: {}", written.page.display());
    if done.failed > 0 {
        eprintln!("quiclab: {} runs failed; the same command tries them again", done.failed);
    }
    Ok(told)
}

/// Reads an experiment file and expands it.
///
/// # Errors
/// As [`Experiment::parse`] and [`Experiment::plan`].
fn plan(file: &Path, arguments: &RunArguments, laboratory: &Laboratory) -> Result<Plan> {
    let experiment = read_experiment(file, arguments.profile.as_deref())?;
    for expectation in &experiment.expectations {
        if Metrics::default().value(&expectation.metric).is_none() {
            bail!(
                "{}: expect.metric: found {:?} with the claim {:?}, expected the name of a metric\nhint: docs/reference/metrics.md lists them",
                file.display(),
                expectation.metric,
                expectation.claim
            );
        }
    }
    for name in experiment.published.iter().flat_map(|row| row.values.keys()) {
        if !metric_names().any(|metric| metric == name) {
            let known = metric_names().collect::<Vec<_>>().join(", ");
            bail!("{}: published.values.{name}: found no metric of that name, expected one of {known}", file.display());
        }
    }
    let overrides = Overrides { repetitions: arguments.reps, filters: arguments.filter.clone() };
    Ok(experiment.plan(&laboratory.manifests(), &overrides)?)
}

/// Reads an experiment file.
///
/// # Errors
/// Where it cannot be read, is no text, or says something that is not allowed.
pub fn read_experiment(path: &Path, profile: Option<&str>) -> Result<Experiment> {
    let name = path.display().to_string();
    let bytes = fs::read(path).with_context(|| name.clone())?;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            bail!("{name}: found bytes that are no UTF-8 at offset {}, expected TOML", error.utf8_error().valid_up_to())
        }
    };
    Ok(Experiment::parse(&name, &text, profile)?)
}

fn jobs(plan: &Plan, prepared: &Prepared) -> Result<Vec<Job>> {
    let labelled = plan.runs.iter().zip(run_labels(plan));
    labelled
        .filter(|(run, _)| prepared.can(run))
        .map(|(run, label)| Ok(Job { name: run.folder_name(&prepared.versions(run)?), run: run.clone(), label }))
        .collect()
}

/// Each run in a few words.
fn run_labels(plan: &Plan) -> Vec<String> {
    let settings: Vec<_> = plan.runs.iter().map(|run| &run.settings).collect();
    let named = plan.runs.iter().zip(labels(&settings));
    named.map(|(run, label)| format!("{label}, repetition {}", run.repetition)).collect()
}

fn workers(arguments: &RunArguments) -> usize {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    arguments.jobs.map_or_else(cores, usize::from)
}

/// The folder of an experiment's results, below that of all results.
fn own_folder(plan: &Plan, profile: Option<&str>) -> String {
    // A profile's name can be any text, a folder's not.
    let plain = |character: char| if character.is_alphanumeric() { character } else { '_' };
    let profile =
        profile.map_or_else(String::new, |profile| format!("-{}", profile.chars().map(plain).collect::<String>()));
    format!("{}{profile}", plan.experiment)
}

/// The command that makes these runs again. Number of jobs and folder make no difference, so they are left out.
fn command_line(file: &Path, arguments: &RunArguments) -> String {
    let mut line = format!("quiclab run {}", quoted(&file.display().to_string()));
    if let Some(profile) = &arguments.profile {
        let _ = write!(line, " --profile {}", quoted(profile));
    }
    if let Some(repetitions) = arguments.reps {
        let _ = write!(line, " --reps {repetitions}");
    }
    for path in &arguments.stacks.own {
        let _ = write!(line, " --stack {}", quoted(&path.display().to_string()));
    }
    for (key, value) in &arguments.filter {
        let _ = write!(line, " --filter {}", quoted(&format!("{key}={value}")));
    }
    line
}

/// What a file that says `unclaimed = "leave out"` is told; nothing where all combinations are there.
fn left_out(plan: &Plan) -> String {
    match plan.left_out {
        0 => String::new(),
        count => format!("; {count} combinations of the matrix are left out, which a stack does not claim"),
    }
}

/// For a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-=,:+@%".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn show_plans(plans: &[Plan], json: bool) -> Result<u8> {
    if json {
        let runs: Vec<_> = plans.iter().flat_map(|plan| &plan.runs).collect();
        output::print(&(serde_json::to_string_pretty(&runs)? + "\n"))?;
        return Ok(0);
    }
    for plan in plans {
        let mut text = format!("{}: {} runs{}\n", plan.experiment, plan.runs.len(), left_out(plan));
        for (run, label) in plan.runs.iter().zip(run_labels(plan)) {
            let settings = &run.settings;
            let _ = writeln!(text, "  {label}: {}, {}, seed {}", settings.workload.size, settings.path.rate, run.seed);
        }
        output::print(&text)?;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_survives_the_shell() {
        assert_eq!(quoted("experiments/a.toml"), "experiments/a.toml");
        assert_eq!(quoted("path.rate=40 Mbit/s"), "'path.rate=40 Mbit/s'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
