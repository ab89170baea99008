//! `quiclab run`

mod folder;
mod supply;
mod words;

use std::{
    cell::OnceCell,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::{Experiment, Overrides, Plan, scenario::is_scenario};
use quiclab_metrics::Metrics;
use quiclab_report::metric_names;
use quiclab_testbed::{
    laboratory::Laboratory, perform::Interrupted, sim::testbed::NAME as SIMULATOR, testbed::default_testbed,
};
use serde_json::{Value, json};

use crate::{
    cli::RunArguments,
    laboratory, output, progress,
    resolved::ResolvedRun,
    results::{Index, Results},
    schedule::{Done, perform_all, tell_goodput},
    signals, simulate, traces,
};
use folder::{command_line, results_folder};
use supply::Supply;
use words::{notes, scenario_in_words, transfers_in_words};

/// Exit statuses above this have other meanings.
const MOST_FAILURES: usize = 99;

/// A file and the runs it asks for.
enum Planned<'a> {
    /// Transfers between stacks, and where these are.
    Transfers(Box<Plan>, &'a Laboratory),
    /// Flows of models.
    Scenario(Box<simulate::Planned>),
}

/// Runs experiments and reports on them. Returns the number of runs that failed, at most [`MOST_FAILURES`].
///
/// # Errors
/// A wrong file, a missing program, an interruption.
pub fn run(arguments: &RunArguments) -> Result<u8> {
    let stop = signals::stop_flag()?;
    let files = experiment_files(&arguments.file)?;
    let texts = files.iter().map(|file| read_text(file)).collect::<Result<Vec<_>>>()?;
    let opened = OnceCell::new();
    // Models need no stacks.
    let laboratory = || -> Result<&Laboratory> {
        match opened.get() {
            Some(laboratory) => Ok(laboratory),
            None => {
                let testbed = laboratory::named(arguments.testbed.as_deref())?;
                let laboratory = laboratory::open_on(testbed, &arguments.stacks, stop.clone())?;
                Ok(opened.get_or_init(|| laboratory))
            }
        }
    };
    // All of them, before the first is run.
    let all = files.iter().zip(&texts);
    let plans = all.map(|(file, text)| plan(file, text, arguments, laboratory)).collect::<Result<Vec<_>>>()?;
    if arguments.dry_run {
        return show_plans(&plans, arguments);
    }
    let mut failed = 0;
    let mut shown = Vec::new();
    for (file, plan) in files.iter().zip(&plans) {
        let (told, failures) = match plan {
            Planned::Transfers(plan, laboratory) => {
                let (results, done) = perform(file, plan, arguments, laboratory)?;
                if stop.load(Ordering::Relaxed) {
                    return Err(Interrupted::ByRequest.into());
                }
                (show(&results, &done, arguments)?, done.failed)
            }
            Planned::Scenario(planned) => perform_scenario(file, planned, arguments, &stop)?,
        };
        shown.extend(told);
        failed += failures;
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

/// Simulates a scenario and reports on it: its report as JSON, where that is wanted, and how many runs failed.
fn perform_scenario(
    file: &Path,
    planned: &simulate::Planned,
    arguments: &RunArguments,
    stop: &AtomicBool,
) -> Result<(Option<Value>, usize)> {
    let folder = results_folder(&planned.scenario.name, &[], "", arguments);
    let (results, performed, failed) =
        simulate::perform(planned, &folder, command_line(file, arguments), workers(arguments), stop)?;
    let (input, page) = results.report()?;
    let mut told = None;
    if arguments.output.json {
        let report: Value = serde_json::from_str(&quiclab_report::render_scenario_json(&input))?;
        told = Some(json!({ "report": report, "performed": performed }));
    } else {
        output::print(&quiclab_report::render_scenario_terminal(&input, output::terminal_width()))?;
    }
    tell_end(&page, failed);
    Ok((told, failed))
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

/// Performs the runs of a plan that have no record yet, and writes the index of their folder.
///
/// # Errors
/// A missing program, an interruption.
pub fn perform(file: &Path, plan: &Plan, arguments: &RunArguments, laboratory: &Laboratory) -> Result<(Results, Done)> {
    let testbed = laboratory.testbed.name();
    let suffix = if testbed == default_testbed().name() { String::new() } else { format!("-{testbed}") };
    let folder = results_folder(&plan.experiment, &plan.substituted, &suffix, arguments);
    for note in notes(plan, arguments) {
        eprintln!("quiclab: {}: {note}", plan.experiment);
    }
    let results = Results::create(&folder)?;
    results.remove_leftovers()?;
    let patience = Duration::from_secs(arguments.wall_timeout);
    let hosts = (0..workers(arguments)).map(|worker| laboratory.host(worker, patience)).collect::<Result<Vec<_>>>()?;
    let is_shared = arguments.out.is_none() || arguments.file.is_dir();
    let supply = Supply::new(plan, laboratory, &results, is_shared, patience)?;
    let (done, ()) = perform_all(laboratory, &hosts, &results, &|_, performed| tell_goodput(performed), |feed| {
        let ready = supply.supply(feed)?;
        if let Some((count, command)) = results.no_longer_covered(&ready.records) {
            progress::say(&format!(
                "{}: the report no longer covers {count} runs of `{command}`; their records are kept",
                folder.display()
            ));
        }
        let index = Index::new(plan, command_line(file, arguments), ready.records, ready.missing);
        results.write_index(&index)
    })?;
    Ok((results, done))
}

/// Prints the report of an experiment; as JSON it is returned.
fn show(results: &Results, done: &Done, arguments: &RunArguments) -> Result<Option<Value>> {
    let written = results.report()?;
    if arguments.parquet {
        let names: Vec<_> = written.input.runs.iter().map(|run| run.folder.clone()).collect();
        traces::write(results.records.folder(), &names)?;
    }
    let mut told = None;
    if arguments.output.json {
        let report: Value = serde_json::from_str(&quiclab_report::render_json(&written.input))?;
        told = Some(json!({ "report": report, "performed": done.performed }));
    } else {
        output::print(&quiclab_report::render_terminal(&written.input, output::terminal_width()))?;
    }
    tell_end(&written.page, done.failed);
    Ok(told)
}

fn tell_end(page: &Path, failed: usize) {
    eprintln!("page with figures: {}", page.display());
    if failed > 0 {
        eprintln!("quiclab: {failed} runs failed; the same command tries them again");
    }
}

/// Reads an experiment file and expands it.
///
/// # Errors
/// What is wrong with the file, or a testbed that cannot run it.
fn plan<'a>(
    file: &Path,
    text: &str,
    arguments: &RunArguments,
    laboratory: impl Fn() -> Result<&'a Laboratory>,
) -> Result<Planned<'a>> {
    let name = file.display().to_string();
    if !is_scenario(text) {
        let laboratory = laboratory()?;
        let plan = plan_transfers(&name, text, arguments, laboratory)?;
        return Ok(Planned::Transfers(Box::new(plan), laboratory));
    }
    if let Some(other) = arguments.testbed.as_deref().filter(|name| *name != SIMULATOR) {
        bail!(
            "{name}: found a scenario file with --testbed {other}, expected --testbed {SIMULATOR}\n\
             hint: a file with [workload] and [stack] instead of [flows] runs real stacks"
        );
    }
    Ok(Planned::Scenario(Box::new(simulate::plan(&name, text, arguments.profile.as_deref(), &overrides(arguments))?)))
}

/// What the command line changes, apart from stacks.
fn overrides(arguments: &RunArguments) -> Overrides {
    Overrides {
        repetitions: arguments.reps,
        filters: arguments.filter.clone(),
        settings: arguments.set.settings.clone(),
        own_stacks: Vec::new(),
    }
}

/// Reads an experiment with stacks and expands it.
///
/// # Errors
/// What is wrong with the file.
pub fn plan_transfers(file: &str, text: &str, arguments: &RunArguments, laboratory: &Laboratory) -> Result<Plan> {
    let experiment = Experiment::parse_beside(file, text, arguments.profile.as_deref(), crate::beside::read)?;
    for expectation in &experiment.expectations {
        if Metrics::default().value(&expectation.metric).is_none() {
            bail!(
                "{file}: expect.metric: found {:?} with the claim {:?}, expected the name of a metric\nhint: docs/reference/metrics.md lists them",
                expectation.metric,
                expectation.claim
            );
        }
    }
    for name in experiment.published.iter().flat_map(|row| row.values.keys()) {
        if !metric_names().any(|metric| metric == name) {
            let known = metric_names().collect::<Vec<_>>().join(", ");
            bail!("{file}: published.values.{name}: found no metric of that name, expected one of {known}");
        }
    }
    let overrides = Overrides { own_stacks: laboratory.supplies.own.clone(), ..overrides(arguments) };
    let plan = experiment.plan(&laboratory.supplies.manifests(), &overrides)?;
    if let Some(message) = plan.runs.iter().find_map(|run| laboratory.testbed.refuse(run)) {
        bail!("{file}: {message}");
    }
    Ok(plan)
}

/// Reads an experiment file.
///
/// # Errors
/// Where it cannot be read, is no text, or says something that is not allowed.
pub fn read_experiment(path: &Path, profile: Option<&str>) -> Result<Experiment> {
    Ok(Experiment::parse_beside(&path.display().to_string(), &read_text(path)?, profile, crate::beside::read)?)
}

/// The text of an experiment file.
///
/// # Errors
/// Where it cannot be read, or is not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    let name = path.display().to_string();
    let bytes = fs::read(path).with_context(|| name.clone())?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            bail!(
                "{name}: found bytes at offset {} that are not UTF-8, expected TOML",
                error.utf8_error().valid_up_to()
            )
        }
    }
}

fn workers(arguments: &RunArguments) -> usize {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    arguments.jobs.map_or_else(cores, usize::from)
}

fn show_plans(plans: &[Planned], arguments: &RunArguments) -> Result<u8> {
    if arguments.output.json {
        let mut runs = Vec::new();
        for plan in plans {
            match plan {
                Planned::Transfers(plan, laboratory) => runs.extend(plan.runs.iter().map(|run| {
                    let testbed = Some(laboratory.testbed.name().to_owned());
                    ResolvedRun { run: run.clone(), testbed }.to_json()
                })),
                Planned::Scenario(planned) => {
                    runs.extend(planned.plan.runs.iter().map(|run| Ok(serde_json::to_value(run)?)));
                }
            }
        }
        let runs = runs.into_iter().collect::<Result<Vec<Value>>>()?;
        output::print(&(serde_json::to_string_pretty(&runs)? + "\n"))?;
        return Ok(0);
    }
    for plan in plans {
        let text = match plan {
            Planned::Transfers(plan, _) => transfers_in_words(plan, arguments),
            Planned::Scenario(planned) => scenario_in_words(planned, arguments),
        };
        output::print(&text)?;
    }
    Ok(0)
}
