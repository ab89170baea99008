//! Scenarios of models, for `quiclab run`.

pub mod results;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::{Result, bail};
use quiclab_experiment::Overrides;
use quiclab_experiment::scenario::{Scenario, ScenarioPlan, ScenarioRun, TIME, scenario_labels};
use quiclab_sim::measures::{METRICS, SERIES, is_named};
use quiclab_testbed::sim::scenarios::{SimulateError, run_id, simulate};

use crate::progress::CountProgress;

use results::{Index, SCHEMA, SimulatedResults};

/// A scenario that was read and expanded.
#[derive(Debug)]
pub struct Planned {
    /// The file.
    pub scenario: Scenario,
    /// Its runs.
    pub plan: ScenarioPlan,
}

/// Reads a scenario and expands it.
///
/// # Errors
/// What is wrong with the file, with its place.
pub fn plan(file: &str, text: &str, profile: Option<&str>, overrides: &Overrides) -> Result<Planned> {
    let scenario = Scenario::parse(file, text, profile)?;
    let plan = scenario.plan(overrides)?;
    let groups: Vec<&str> =
        plan.settings.iter().flat_map(|settings| settings.flows.keys().map(String::as_str)).collect();
    let is_metric = |name: &str| is_named(METRICS, groups.iter().copied(), name);
    for expectation in &scenario.expectations {
        if !is_metric(&expectation.metric) {
            bail!(
                "{file}: expect.metric: found {:?} with the claim {:?}, expected one of {}, where GROUP is the name of a group of flows",
                expectation.metric,
                expectation.claim,
                METRICS.join(", ")
            );
        }
    }
    for figure in &scenario.figures {
        let list = if figure.x == TIME { SERIES } else { METRICS };
        if let Some(wrong) = figure.y.iter().find(|name| !is_named(list, groups.iter().copied(), name)) {
            bail!(
                "{file}: figure.y: found {wrong:?} in {:?}, expected one of {}, where GROUP is the name of a group of flows",
                figure.title,
                list.join(", ")
            );
        }
    }
    Ok(Planned { scenario, plan })
}

/// Each run in a few words.
pub fn labels(plan: &ScenarioPlan) -> Vec<String> {
    let texts: Vec<_> = plan.settings.iter().map(|settings| settings.texts()).collect();
    let labels = scenario_labels(&texts);
    let count = labels.len();
    plan.runs
        .iter()
        .enumerate()
        .map(|(place, run)| format!("{}, repetition {}", labels[place % count], run.repetition))
        .collect()
}

/// Simulates what has not been simulated yet, in this folder. Returns the results, how many runs were made and how many failed.
///
/// # Errors
/// A folder that cannot be written, an interruption.
pub fn perform(
    planned: &Planned,
    folder: &Path,
    command: String,
    workers: usize,
    stop: &AtomicBool,
) -> Result<(SimulatedResults, usize, usize)> {
    let results = SimulatedResults::create(folder)?;
    let _lock = results.lock()?;
    let runs = &planned.plan.runs;
    let ids: Vec<String> = runs.iter().map(run_id).collect();
    let mut index = Index {
        schema: SCHEMA,
        experiment: planned.scenario.name.clone(),
        title: planned.scenario.title.clone(),
        source: planned.scenario.source.clone(),
        command,
        simulator: quiclab_sim::VERSION.to_owned(),
        expectations: planned.scenario.expectations.clone(),
        figures: planned.scenario.figures.clone(),
        runs: ids.clone(),
        failures: BTreeMap::new(),
    };
    results.write_index(&index)?;
    let done = results.runs()?;
    let labels = labels(&planned.plan);
    let missing: Vec<usize> = (0..runs.len()).filter(|place| !done.contains_key(&ids[*place])).collect();
    if missing.len() < runs.len() {
        eprintln!("quiclab: {} of {} runs were simulated already", runs.len() - missing.len(), runs.len());
    }
    let jobs: Vec<_> = missing.iter().map(|place| (&runs[*place], labels[*place].as_str())).collect();
    index.failures = simulate_all(&jobs, &results, workers, stop)?;
    results.write_index(&index)?;
    let failed = index.failures.len();
    Ok((results, jobs.len() - failed, failed))
}

/// Simulates runs side by side and notes each as soon as it is done. Returns why runs failed, by their identity.
fn simulate_all(
    jobs: &[(&ScenarioRun, &str)],
    results: &SimulatedResults,
    workers: usize,
    stop: &AtomicBool,
) -> Result<BTreeMap<String, String>> {
    let journal = Mutex::new(results.journal()?);
    let progress = CountProgress::new(jobs.len());
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(BTreeMap::new());
    // Where nothing can be noted any more, nothing more is begun.
    let broken = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..workers.min(jobs.len()) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) && lock(&broken).is_none() {
                    let Some((run, label)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                    match simulate(run, stop) {
                        Ok(simulated) => {
                            if let Err(error) = lock(&journal).add(&simulated) {
                                lock(&broken).get_or_insert(error);
                            }
                        }
                        Err(SimulateError::Interrupted) => return,
                        Err(error) => {
                            progress.tell(&format!("{label}: FAILED: {error}"));
                            lock(&failures).insert(run_id(run), format!("{label}: {error}"));
                        }
                    }
                    progress.count();
                }
            });
        }
    });
    progress.finish();
    if let Some(error) = broken.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        return Err(error.context("finished runs are kept, and the same command continues from there"));
    }
    if stop.load(Ordering::Relaxed) {
        return Err(quiclab_testbed::perform::Interrupted::ByRequest.into());
    }
    Ok(failures.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
