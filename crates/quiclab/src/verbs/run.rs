//! `quiclab run`

mod folder;
mod handshakes;
mod narrow;
mod needs;
mod rounds;
mod supply;
mod until;

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::{AnyRun, Experiment, Overrides, Plan, scenario::is_scenario};
use quiclab_metrics::Metrics;
use quiclab_pages::{
    figure_files,
    results::{Ladders, Results, audits, machine, order::Order, traces},
};
use quiclab_report::metric_names;
use quiclab_testbed::{
    laboratory::Laboratory,
    netns::NAME as NETNS,
    perform::Interrupted,
    registry::{default_testbed, refusal, testbed},
    sim::testbed::NAME as SIMULATOR,
};
use serde_json::{Value, json};

use crate::{
    session::{
        experiment_files::{self, read_text},
        laboratory,
        plan_words::in_words,
        planned::Planned,
        resolved::ResolvedRun,
        schedule::{Done, perform_all, tell_goodput},
        signals,
    },
    settings::{RunAction, RunSettings},
    terminal::{output, progress},
};
use folder::{command_line, results_folder};
use narrow::perform_until_narrow;
use rounds::Rounds;
use supply::Supply;
use until::{looks, perform_until_decided};

/// Exit statuses above this have other meanings.
const MOST_FAILURES: usize = 99;

/// What a file asks for, and where it is run.
type Planning<'a> = (Planned, &'a Laboratory);

/// Runs experiments and reports on them. Returns the number of runs that failed, at most [`MOST_FAILURES`].
///
/// # Errors
/// A wrong file, a missing program, an interruption.
pub fn run(action: &RunAction, settings: &RunSettings) -> Result<u8> {
    if let RunAction::CountHandshakes { count, table } = action {
        return handshakes::handshakes(settings, *count, table.as_deref());
    }
    let stop = signals::stop_flag()?;
    let files = experiment_files(&settings.files)?;
    let texts = files.iter().map(|file| read_text(file)).collect::<Result<Vec<_>>>()?;
    let laboratories = Laboratories { settings, stop: &stop, of_stacks: OnceCell::new(), of_models: OnceCell::new() };
    // All of them, before the first is run.
    let all = files.iter().zip(&texts);
    let plans = all.map(|(file, text)| plan(file, text, settings, &laboratories)).collect::<Result<Vec<_>>>()?;
    check_folders(&files, &plans, settings)?;
    if let Some((_, other)) = plans.iter().find(|(_, laboratory)| laboratory.testbed.name() != NETNS)
        && settings.roofline
    {
        bail!(
            "--roofline: not on the testbed {}, only on {NETNS}: there both ends run on this machine, in its own time",
            other.testbed.name()
        );
    }
    match action {
        RunAction::Print => return show_plans(&plans, settings),
        RunAction::PrintNeeds => return needs::show_needs(only(&plans)?, settings),
        RunAction::Perform | RunAction::CountHandshakes { .. } => {}
    }
    let mut failed = 0;
    let mut shown = Vec::new();
    for ((file, text), (planned, laboratory)) in files.iter().zip(&texts).zip(&plans) {
        let again = |repetitions| {
            let settings = RunSettings { repetitions: Some(repetitions), ..settings.clone() };
            Ok(plan(file, text, &settings, &laboratories)?.0)
        };
        let rounds = |first| Rounds { file, settings, laboratory, stop: &stop, first };
        let (results, done) = if let Some(until) = &planned.until {
            perform_until_narrow(&rounds(until.at_least), until, again)?
        } else if settings.until_decided {
            let looks = looks(planned, settings);
            perform_until_decided(&rounds(looks.first), looks, again)?
        } else {
            perform(file, planned, settings, laboratory)?
        };
        if stop.load(Ordering::Relaxed) {
            return Err(Interrupted::ByRequest.into());
        }
        let (printed, violated) = show(&results, &done, settings, &stop)?;
        shown.extend(printed);
        failed += done.failed + violated;
    }
    if let [only] = &shown[..]
        && files.len() == 1
    {
        output::print(&(serde_json::to_string_pretty(only)? + "\n"))?;
    } else if settings.json {
        output::print(&(serde_json::to_string_pretty(&shown)? + "\n"))?;
    }
    Ok(failed.min(MOST_FAILURES) as u8)
}

/// Testbeds with what they run, opened when the first file needs them.
struct Laboratories<'a> {
    settings: &'a RunSettings,
    stop: &'a Arc<AtomicBool>,
    of_stacks: OnceCell<Laboratory>,
    of_models: OnceCell<Laboratory>,
}

impl Laboratories<'_> {
    /// The laboratory for transfers between stacks.
    fn of_stacks(&self) -> Result<&Laboratory> {
        opened(&self.of_stacks, || {
            let testbed = laboratory::named_with(self.settings.testbed.as_deref(), self.settings.hosts.as_deref())?;
            let mut laboratory = laboratory::open_on(testbed, &self.settings.stacks, self.stop.clone())?;
            laboratory.stack_store.waits_for_turn = self.settings.waits_for_turn;
            Ok(laboratory)
        })
    }

    /// The laboratory for flows of models, which need no stacks and run in the simulator.
    fn of_models(&self) -> Result<&Laboratory> {
        opened(&self.of_models, || {
            let testbed = testbed(self.settings.testbed.as_deref().unwrap_or(SIMULATOR))?;
            Laboratory::without_stacks(testbed, self.stop.clone(), progress::say)
        })
    }
}

fn opened(cell: &OnceCell<Laboratory>, open: impl FnOnce() -> Result<Laboratory>) -> Result<&Laboratory> {
    match cell.get() {
        Some(laboratory) => Ok(laboratory),
        None => {
            let laboratory = open()?;
            Ok(cell.get_or_init(|| laboratory))
        }
    }
}

/// The experiment files that were named, and all in the folders that were, in order of name. Each is in the list once.
fn experiment_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in paths {
        for file in files_below(path)? {
            if !all.contains(&file) {
                all.push(file);
            }
        }
    }
    Ok(all)
}

fn files_below(path: &Path) -> Result<Vec<PathBuf>> {
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

/// Two experiments must not share a folder: each one's report would take the place of the other's.
fn check_folders(files: &[PathBuf], plans: &[Planning], settings: &RunSettings) -> Result<()> {
    let mut seen = BTreeMap::new();
    for (file, (plan, laboratory)) in files.iter().zip(plans) {
        if let Some(other) = seen.insert(folder_of(plan, laboratory, settings), file) {
            bail!(
                "{} and {}: found the name {:?} in both, expected names that differ",
                other.display(),
                file.display(),
                plan.experiment
            );
        }
    }
    Ok(())
}

/// Where the results of a plan go.
fn folder_of(plan: &Planned, laboratory: &Laboratory, settings: &RunSettings) -> PathBuf {
    let testbed = laboratory.testbed.name();
    // Models run on one testbed only, so that its name says nothing.
    let is_usual = testbed == default_testbed().name() || plan.kind == AnyRun::MODELS;
    let suffix = if is_usual { String::new() } else { format!("-{testbed}") };
    results_folder(&plan.experiment, &plan.substituted, &suffix, settings)
}

/// Performs the runs of a plan that have no record yet, and writes the index of their folder.
///
/// # Errors
/// A missing program, an interruption.
pub fn perform(
    file: &Path,
    plan: &Planned,
    settings: &RunSettings,
    laboratory: &Laboratory,
) -> Result<(Results, Done)> {
    let folder = folder_of(plan, laboratory, settings);
    for note in &plan.notes {
        status!("quiclab: {}: {note}", plan.experiment);
    }
    let results = Results::create(&folder, laboratory.stack_store.stop.clone(), progress::say)?;
    results.remove_leftovers()?;
    if settings.roofline {
        machine::write(results.folder(), progress::say)?;
    }
    let timeout = settings.wall_timeout;
    let wait_for_quiet = settings.wait_for_quiet;
    let order = if laboratory.testbed.is_exact() { None } else { Order::of(&plan.runs) };
    let hosts = (0..workers(settings, laboratory))
        .map(|worker| Ok(laboratory.host(worker, timeout)?.waiting_for_quiet(wait_for_quiet)))
        .collect::<Result<Vec<_>>>()?;
    let is_shared = settings.out.is_none() || settings.has_several();
    let supply = Supply::new(plan, laboratory, &results, is_shared, timeout)?.ordered(order);
    let (done, ()) = perform_all(laboratory, &hosts, &results, &|_, performed| tell_goodput(performed), |feed| {
        let ready = supply.supply(feed)?;
        // The first of several evaluations covers less than an earlier command's last one.
        if plan.looks.is_none()
            && let Some((count, command)) = results.no_longer_covered(&ready.records)
        {
            progress::say(&format!(
                "{}: the report no longer covers {count} runs of `{command}`; their records are kept",
                folder.display()
            ));
        }
        let index = plan
            .index(command_line(file, settings), ready.records, ready.missing, order)
            .performed_with(&folder, laboratory.stack_store.cache.used_from_archives());
        results.write_index(&index)
    })?;
    Ok((results, done))
}

/// Prints the report of an experiment; as JSON it is returned. Also returns the number of runs that violate a law.
fn show(results: &Results, done: &Done, settings: &RunSettings, stop: &AtomicBool) -> Result<(Option<Value>, usize)> {
    let written = results.report(Ladders::Default, false)?;
    if settings.parquet {
        traces::write_all(results.records.folder(), &written.input, stop, progress::say)?;
    }
    let audits = settings.audit.then(|| audits::audit_all(results.folder(), &written.input)).transpose()?;
    let mut printed = None;
    if settings.json {
        let report: Value = serde_json::from_str(&written.input.json())?;
        let mut shown = json!({ "results": results.folder(), "report": report, "performed": done.performed });
        if let Some(audits) = &audits {
            shown["audits"] = json!(audits);
        }
        printed = Some(shown);
    } else {
        output::print(&written.input.terminal(output::terminal_width()))?;
    }
    let violated = audits.as_deref().map_or(0, audits::violated);
    audits.as_deref().map(audits::in_words).iter().for_each(|words| status!("{}", words.trim_end()));
    tell_end(&written.page, done.failed);
    // Last, because they need a program that may be missing.
    if let Some(into) = &settings.figures {
        // Figures of different experiments may have one name.
        let own = settings.has_several().then(|| into.join(written.input.experiment()));
        status!(
            "{}",
            figure_files::write_all(own.as_deref().unwrap_or(into), results.records.folder(), &written.input)?
        );
    }
    Ok((printed, violated))
}

fn tell_end(page: &Path, failed: usize) {
    status!("page with figures: {}", page.display());
    if failed > 0 {
        status!("quiclab: {failed} runs failed; the same command tries them again");
    }
}

/// Reads an experiment file and expands it.
///
/// # Errors
/// What is wrong with the file, or a testbed that cannot run it.
fn plan<'a>(file: &Path, text: &str, settings: &RunSettings, laboratories: &'a Laboratories) -> Result<Planning<'a>> {
    let name = file.display().to_string();
    if !is_scenario(text) {
        let laboratory = laboratories.of_stacks()?;
        let plan = plan_transfers(&name, text, settings, laboratory)?;
        let mut planned = Planned::of_transfers(&plan, settings);
        // Runs of several rates have a sentence each, those of one share it.
        let doubts: BTreeSet<_> = plan.runs.iter().filter_map(|run| laboratory.testbed.doubt(run)).collect();
        planned.notes.extend(doubts);
        return Ok((planned, laboratory));
    }
    let laboratory = laboratories.of_models()?;
    let planned = Planned::of_models(&name, text, settings.profile.as_deref(), &overrides(settings))?;
    if let Some(message) = planned.runs.iter().find_map(|run| refusal(&*laboratory.testbed, run)) {
        bail!("{name}: {message}");
    }
    Ok((planned, laboratory))
}

/// What the command line changes, apart from stacks.
pub fn overrides(settings: &RunSettings) -> Overrides {
    Overrides {
        repetitions: settings.repetitions,
        filters: settings.filters.clone(),
        settings: settings.set.clone(),
        own_stacks: Vec::new(),
    }
}

/// Reads an experiment with stacks and expands it.
///
/// # Errors
/// What is wrong with the file.
pub fn plan_transfers(file: &str, text: &str, settings: &RunSettings, laboratory: &Laboratory) -> Result<Plan> {
    let experiment = Experiment::parse_with_includes(file, text, settings.profile.as_deref(), experiment_files::read)?;
    for expectation in &experiment.common.expectations {
        if !expectation.is_of_losses() && Metrics::default().value(&expectation.metric).is_none() {
            bail!(
                "{file}: expect.metric: found {:?} with the claim {:?}, expected the name of a metric\nhint: docs/reference/metrics.md lists them",
                expectation.metric,
                expectation.claim
            );
        }
    }
    for figure in &experiment.common.figures {
        if let Some(wrong) = figure.y.iter().find(|name| Metrics::default().value(name).is_none()) {
            bail!(
                "{file}: figure.y: found {wrong:?} in {:?}, expected the name of a metric\nhint: docs/reference/metrics.md lists them",
                figure.title
            );
        }
    }
    for name in experiment.published.iter().flat_map(|row| row.values.keys()) {
        if !metric_names().any(|metric| metric == name) {
            let known = metric_names().collect::<Vec<_>>().join(", ");
            bail!("{file}: published.values.{name}: found no metric of that name, expected one of {known}");
        }
    }
    let overrides = Overrides { own_stacks: laboratory.stack_store.own.clone(), ..overrides(settings) };
    let plan = experiment.plan(&laboratory.stack_store.manifests(), &overrides)?;
    if let Some(until) = &plan.until {
        if Metrics::default().value(&until.metric).is_none() {
            bail!(
                "{file}: workload.repetitions: found {:?}, expected the name of a metric\nhint: docs/reference/metrics.md lists them",
                until.metric
            );
        }
        if settings.until_decided {
            bail!(
                "{file}: found --until-decided and workload.repetitions with \"until\", expected one of the two\nhint: --reps N repeats a fixed \
                 number of times before the first decision"
            );
        }
    }
    if let Some(message) = plan.runs.iter().find_map(|run| laboratory.testbed.refuse(run)) {
        bail!("{file}: {message}");
    }
    Ok(plan)
}

/// How many runs are performed at the same time: where time is real, one, unless somebody asks for more.
fn workers(settings: &RunSettings, laboratory: &Laboratory) -> usize {
    let usual = || match laboratory.testbed.is_exact() {
        true => thread::available_parallelism().map_or(1, usize::from),
        false => 1,
    };
    settings.jobs.map_or_else(usual, usize::from)
}

/// The plan of the only file.
fn only<'a, 'b>(plans: &'a [Planning<'b>]) -> Result<&'a Planning<'b>> {
    match plans {
        [only] => Ok(only),
        _ => bail!("--needs: found {} experiment files, expected a single one", plans.len()),
    }
}

fn show_plans(plans: &[Planning], settings: &RunSettings) -> Result<u8> {
    if settings.json {
        let all = plans.iter().flat_map(|(planned, laboratory)| planned.runs.iter().map(move |run| (run, laboratory)));
        let runs = all.map(|(run, laboratory)| {
            let testbed = Some(laboratory.testbed.name().to_owned());
            ResolvedRun { run: run.clone(), testbed }.to_json()
        });
        let runs = runs.collect::<Result<Vec<Value>>>()?;
        output::print(&(serde_json::to_string_pretty(&runs)? + "\n"))?;
        return Ok(0);
    }
    for (planned, _) in plans {
        output::print(&in_words(planned, settings))?;
    }
    Ok(0)
}
