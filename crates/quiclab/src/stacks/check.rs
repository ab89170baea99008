//! `quiclab stacks check`: proves in the virtual testbed what a stack's manifest claims, and that the stack refuses everything
//! else.

mod claims;
mod evidence;

use std::{path::Path, sync::atomic::Ordering, thread, time::Duration, time::Instant};

use anyhow::{Context, Result};
use quiclab_testbed::{
    collect::RunFailure,
    perform::{Host, Interrupted, PerformError},
    record::Records,
};
use rayon::prelude::*;
use serde::Serialize;

use crate::{
    cli::StacksCheckArguments,
    laboratory::{Laboratory, Prepared},
    output,
    progress::Progress,
    results::FAILURES_FOLDER,
    signals,
};

use claims::Proof;
use evidence::Ended;

/// What came of a proof.
#[derive(Debug, Serialize)]
struct Finding {
    stack: String,
    /// The claim, as a sentence.
    claim: String,
    /// Whether it holds.
    holds: bool,
    /// What was found.
    found: String,
    /// Where the run's files are, if it was run.
    record: Option<String>,
}

impl Finding {
    fn say(&self, arguments: &StacksCheckArguments) -> Result<()> {
        if arguments.output.json {
            return Ok(());
        }
        let Self { stack, claim, found, .. } = self;
        output::print(&format!("{} {stack}: {claim}: {found}\n", if self.holds { "ok  " } else { "FAIL" }))
    }
}

/// Proves the claims of stacks. Returns the number of those that do not hold, at most 99.
///
/// # Errors
/// An unknown name, a build that fails, a missing program, or an interruption.
pub fn check(arguments: &StacksCheckArguments) -> Result<u8> {
    let stop = signals::stop_flag()?;
    let laboratory = Laboratory::open(&arguments.stacks, stop.clone())?;
    let names: Vec<_> = match &arguments.names[..] {
        [] => laboratory.usual().map(|manifest| manifest.name.clone()).collect(),
        names => names.to_vec(),
    };
    let mut findings = Vec::new();
    for name in &names {
        findings.extend(check_one(name, arguments, &laboratory)?);
        if stop.load(Ordering::Relaxed) {
            return Err(Interrupted::ByRequest.into());
        }
    }
    if arguments.output.json {
        output::print(&(serde_json::to_string_pretty(&findings)? + "\n"))?;
    }
    let failed = findings.iter().filter(|finding| !finding.holds).count();
    eprintln!("quiclab: {} claims, of which {failed} do not hold", findings.len());
    Ok(failed.min(99) as u8)
}

fn check_one(name: &str, arguments: &StacksCheckArguments, laboratory: &Laboratory) -> Result<Vec<Finding>> {
    let proofs = claims::of(name, &laboratory.manifests())?;
    let runs: Vec<_> = proofs.iter().map(|proof| proof.run.clone()).collect();
    let patience = Duration::from_secs(arguments.wall_timeout);
    let prepared = laboratory.prepare(&runs, patience)?;
    if let Some((missing, why)) = prepared.missing.first_key_value() {
        let found = format!("{missing} could not be built: {why}");
        let finding =
            Finding { stack: name.to_owned(), claim: "it can be checked".into(), holds: false, found, record: None };
        finding.say(arguments)?;
        return Ok(vec![finding]);
    }
    let workers = arguments.jobs.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from);
    let hosts = (0..workers).map(|worker| laboratory.host(worker, patience)).collect::<Result<Vec<_>>>()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().context("threads")?;
    let progress = Progress::new(proofs.len(), workers);
    let folder = arguments.out.join(name);
    let ended: Vec<_> = pool.install(|| {
        let all = proofs.par_iter().enumerate();
        all.map(|(number, proof)| {
            let host = &hosts[rayon::current_thread_index().unwrap_or(0)];
            let label = format!("{name}: {}", proof.claim);
            progress.on_start(&label);
            let start = Instant::now();
            let ended = perform(&prepared, proof, &folder.join(format!("{:02}", number + 1)), host);
            progress.on_end(&label, start.elapsed(), ended.as_ref().map_or("not performed", |ended| ended.in_a_word()));
            ended
        })
        .collect()
    });
    progress.finish();
    let ended = ended.into_iter().collect::<Result<Vec<_>>>()?;
    let mut findings = Vec::new();
    for (proof, end) in proofs.iter().zip(&ended) {
        let verdict = evidence::judge(proof, end, &proofs, &ended);
        let (holds, found) = match verdict {
            Ok(found) => (true, found),
            Err(found) => (false, found),
        };
        let record = Some(end.folder().display().to_string());
        let finding = Finding { stack: name.to_owned(), claim: proof.claim.clone(), holds, found, record };
        finding.say(arguments)?;
        findings.push(finding);
    }
    Ok(findings)
}

fn perform(prepared: &Prepared, proof: &Proof, folder: &Path, host: &Host) -> Result<Ended> {
    // What an earlier check left would be taken for this one's.
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let records = Records::open(folder)?;
    match prepared.perform_with(&proof.run, &proof.variables, &records, &folder.join(FAILURES_FOLDER), host) {
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
