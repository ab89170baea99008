//! `quiclab stacks check`: proves, on the virtual testbed or another one, what a stack's manifest claims, and that the stack refuses everything
//! else.

mod selection;

use std::{path::Path, sync::atomic::Ordering, thread, time::Instant};

use anyhow::{Context, Result, bail};
use quiclab_experiment::AnyRun;
use quiclab_pages::results::FAILURES_FOLDER;
use quiclab_record::Records;
use quiclab_testbed::{
    collect::RunFailure,
    laboratory::{Laboratory, stacks_of},
    perform::{Host, Interrupted, PerformError},
};
use quiclab_trials::{
    claims::{self, Proof},
    evidence::{self, Ended},
    output_tail::{self, OutputTail},
};
use rayon::prelude::*;
use serde::Serialize;

use crate::{
    session::{
        laboratory::{named, open_on},
        signals,
    },
    settings::StacksCheckSettings,
    terminal::{output, progress::Progress},
};

use selection::Selected;

/// The claim of a stack that cannot be built.
const BUILD: &str = "build";

/// What came of a proof.
#[derive(Debug, Serialize)]
struct Finding {
    stack: String,
    /// The claim's name, as `--claim` takes it.
    name: String,
    /// The claim, as a sentence.
    claim: String,
    /// Whether it holds; `None` where it was not tried.
    holds: Option<bool>,
    /// What was found.
    found: String,
    /// Where the run's files are, if it was run.
    record: Option<String>,
    /// The end of what the endpoints printed, for a claim that does not hold.
    output_tail: Vec<OutputTail>,
}

impl Finding {
    fn of(stack: &str, proof: &Proof) -> Self {
        let (name, claim) = (proof.name.clone(), proof.claim.clone());
        Self {
            stack: stack.to_owned(),
            name,
            claim,
            holds: None,
            found: String::new(),
            record: None,
            output_tail: vec![],
        }
    }

    fn say(&self, settings: &StacksCheckSettings) -> Result<()> {
        if settings.json {
            return Ok(());
        }
        let Self { stack, claim, found, holds, output_tail, .. } = self;
        let word = match holds {
            Some(true) => "ok  ",
            Some(false) => "FAIL",
            // One line stands for all of these.
            None => return Ok(()),
        };
        output::print(&format!("{word} {stack}: {claim}: {found}\n{}", output_tail::in_words(output_tail)))
    }
}

/// Proves the claims of stacks. Returns the number of those that do not hold, at most 99.
///
/// # Errors
/// An unknown name, a build that fails, a missing program, or an interruption.
pub fn check(settings: &StacksCheckSettings) -> Result<u8> {
    let stop = signals::stop_flag()?;
    let laboratory = open_on(named(settings.testbed.as_deref())?, &settings.stacks, stop.clone())?;
    let names: Vec<_> = match &settings.names[..] {
        [] => laboratory.stack_store.default_builds().map(|manifest| manifest.name.clone()).collect(),
        names => names.to_vec(),
    };
    let manifests = laboratory.stack_store.manifests();
    let proofs = names.iter().map(|name| claims::of(name, &manifests)).collect::<Result<Vec<_>>>()?;
    if settings.list && settings.claim.is_empty() {
        selection::list(&names, &proofs, settings.json)?;
        return Ok(0);
    }
    let selected = selection::select(&names, proofs, &settings.claim)?;
    if settings.list {
        bail!("--list: cannot be combined with --claim; the list has every claim");
    }
    let mut findings = Vec::new();
    for (name, mut selected) in names.iter().zip(selected) {
        findings.extend(set_aside(name, &mut selected, settings, &laboratory)?);
        if !selected.is_empty() {
            findings.extend(check_one(name, &selected, settings, &laboratory)?);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Interrupted::ByRequest.into());
        }
    }
    if !findings.is_empty() && findings.iter().all(|finding| finding.name == BUILD) {
        bail!("no stack could be built");
    }
    if settings.json {
        output::print(&(serde_json::to_string_pretty(&findings)? + "\n"))?;
    }
    let count = |holds: Option<bool>| findings.iter().filter(|finding| finding.holds == holds).count();
    let (held, failed, not_tried) = (count(Some(true)), count(Some(false)), count(None));
    let not_tried = if not_tried == 0 { String::new() } else { format!(", {not_tried} not tried") };
    status!("quiclab: {held} claims pass, {failed} fail{not_tried}");
    Ok(failed.min(99) as u8)
}

/// The claims that the testbed cannot check, taken out of those that are checked.
fn set_aside(
    name: &str,
    selected: &mut Selected,
    settings: &StacksCheckSettings,
    laboratory: &Laboratory,
) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (proof, why) in selected.set_aside(&*laboratory.testbed) {
        if selected.reports(&proof) {
            findings.push(Finding { found: why, ..Finding::of(name, &proof) });
        }
    }
    if let Some(first) = findings.first()
        && !settings.json
    {
        let (testbed, why) = (laboratory.testbed.name(), first.found.lines().next().unwrap_or_default());
        output::print(&format!(
            "---- {name}: {} claims cannot be checked with --testbed {testbed}: {why}\n",
            findings.len()
        ))?;
    }
    Ok(findings)
}

/// The first stack of `runs` that cannot be built, and why. Other stacks can be checked all the same.
fn missing_stack(runs: &[AnyRun], laboratory: &Laboratory) -> Result<Option<(String, String)>> {
    laboratory.testbed.check_machine()?;
    for name in stacks_of(runs) {
        if let Err(error) = laboratory.build(name) {
            return Ok(Some((name.clone(), laboratory.skipped(name, error)?)));
        }
    }
    Ok(None)
}

fn check_one(
    name: &str,
    selected: &Selected,
    settings: &StacksCheckSettings,
    laboratory: &Laboratory,
) -> Result<Vec<Finding>> {
    let proofs = &selected.proofs[..];
    let runs: Vec<_> = proofs.iter().map(|proof| proof.run.clone().into()).collect();
    let timeout = settings.wall_timeout;
    if let Some((missing, why)) = missing_stack(&runs, laboratory)? {
        let found = format!("{missing} could not be built: {why}");
        let (claim, name) = ("it can be checked".to_owned(), BUILD.to_owned());
        let stack = selected.stack.clone();
        let finding = Finding { stack, name, claim, holds: Some(false), found, record: None, output_tail: vec![] };
        finding.say(settings)?;
        return Ok(vec![finding]);
    }
    laboratory.prepare(&runs, timeout)?;
    let usual = || match laboratory.testbed.is_exact() {
        true => thread::available_parallelism().map_or(1, usize::from),
        false => 1,
    };
    let workers = settings.jobs.map_or_else(usual, usize::from);
    let hosts = (0..workers).map(|worker| laboratory.host(worker, timeout)).collect::<Result<Vec<_>>>()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().context("threads")?;
    let progress = Progress::new(proofs.len(), workers);
    let folder = settings.out.join(claims::file_name(name));
    let try_one = |proof: &Proof| {
        let host = &hosts[rayon::current_thread_index().unwrap_or(0)];
        let label = format!("{name}: {}", proof.claim);
        progress.on_start(&label);
        let start = Instant::now();
        let ended = perform(laboratory, proof, &folder.join(&proof.name), host);
        progress.on_end(&label, start.elapsed(), ended.as_ref().map_or("not run", |ended| ended.in_a_word()));
        ended
    };
    // Where no file arrives, the other runs would only repeat it.
    let first = usize::from(proofs[0].name == claims::TRANSFER);
    let mut ended = pool.install(|| proofs[..first].iter().map(try_one).collect::<Result<Vec<_>>>())?;
    let goes_on = ended.iter().all(Ended::transferred);
    if goes_on {
        ended.extend(pool.install(|| proofs[first..].par_iter().map(try_one).collect::<Result<Vec<_>>>())?);
    }
    progress.finish();
    let mut findings = Vec::new();
    for (proof, end) in proofs.iter().zip(&ended).filter(|(proof, _)| selected.reports(proof)) {
        let verdict = evidence::judge(proof, end, &proofs[..ended.len()], &ended);
        let (holds, found) = match verdict {
            Ok(found) => (true, found),
            Err(found) => (false, found),
        };
        let output_tail = if holds { vec![] } else { output_tail::of_run(end.folder()) };
        let record = Some(end.folder().display().to_string());
        let finding = Finding { holds: Some(holds), found, record, output_tail, ..Finding::of(name, proof) };
        finding.say(settings)?;
        findings.push(finding);
    }
    if !goes_on {
        let why = "not tried, because the first transfer failed";
        let rest = proofs[ended.len()..].iter().filter(|proof| selected.reports(proof));
        let rest: Vec<_> = rest.map(|proof| Finding { found: why.to_owned(), ..Finding::of(name, proof) }).collect();
        if !settings.json && !rest.is_empty() {
            output::print(&format!("---- {name}: {} other claims were {why}\n", rest.len()))?;
        }
        suggest_a_try(name, settings, laboratory)?;
        findings.extend(rest);
    }
    Ok(findings)
}

/// The next step where endpoints do not transfer at all.
fn suggest_a_try(name: &str, settings: &StacksCheckSettings, laboratory: &Laboratory) -> Result<()> {
    let own = settings.stacks.own.iter().find(|path| path.file_stem().is_some_and(|stem| stem == name));
    let path = match own {
        Some(path) => path,
        // An image of the Interop Runner has no files that this machine could start.
        None if laboratory.stack_store.is_imported(name) => return Ok(()),
        None => &laboratory.stack_store.source(name)?.folder,
    };
    status!(
        "hint: quiclab stacks try {} runs the same endpoints on this machine, without virtual machines",
        path.display()
    );
    Ok(())
}

fn perform(laboratory: &Laboratory, proof: &Proof, folder: &Path, host: &Host) -> Result<Ended> {
    // What an earlier check left would be taken for this one's.
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let records = Records::open(folder)?;
    match laboratory.perform_with(
        &proof.run.clone().into(),
        &proof.variables,
        &records,
        &folder.join(FAILURES_FOLDER),
        host,
    ) {
        Ok(performed) => Ok(Ended::Well { folder: performed.record }),
        Err(PerformError::Run { failure, kept }) => {
            Ok(Ended::Badly { folder: kept.unwrap_or_else(|| folder.to_path_buf()), failure })
        }
        Err(PerformError::Testbed(error)) if signals::is_interruption(&error) => Err(error),
        // One run that could not be finished does not make the others worthless.
        Err(PerformError::Testbed(error)) => {
            Ok(Ended::Badly { folder: folder.to_path_buf(), failure: RunFailure::Guest(format!("{error:#}")) })
        }
    }
}
