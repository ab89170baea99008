//! `quiclab run --until-decided`: repeats the runs of undecided claims.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::Result;
use quiclab_report::{InterimAnalyses, Outcome, group_key};
use quiclab_testbed::{laboratory::Laboratory, perform::Interrupted};

use super::{Planned, perform};
use crate::{results::Results, session::schedule::Done, settings::RunSettings, terminal::progress};

/// Fewer repetitions say next to nothing of chance.
const FIRST: u32 = 3;

/// The evaluations of a plan: the first with as many repetitions as it has, at least [`FIRST`].
pub fn looks(plan: &Planned, settings: &RunSettings) -> InterimAnalyses {
    let asked = plan.runs.iter().map(|run| run.repetition()).max().unwrap_or(1);
    let most = settings.most_repetitions;
    InterimAnalyses { first: asked.max(FIRST).min(most), most }
}

/// Performs the runs of a file and repeats those of undecided claims, until all are decided or there are as many repetitions as allowed.
/// `plan` makes the plan with so many repetitions of everything.
///
/// # Errors
/// A missing program, an interruption.
pub fn perform_until_decided(
    file: &Path,
    looks: InterimAnalyses,
    plan: impl Fn(u32) -> Result<Planned>,
    settings: &RunSettings,
    laboratory: &Laboratory,
    stop: &AtomicBool,
) -> Result<(Results, Done)> {
    let mut all = Done::default();
    // Repetitions of the settings that have more than the first ones.
    let mut more: BTreeMap<String, u32> = BTreeMap::new();
    // The parts of the error are those of the findings.
    let mut rounds = looks.schedule(1.0).map(|(_, repetitions, _)| repetitions).peekable();
    loop {
        let repetitions = rounds.next().unwrap_or(looks.most);
        let mut planned = plan(repetitions)?;
        planned.looks = Some(looks);
        planned.retain(|run| run.repetition() <= more.get(&group_key(run)).copied().unwrap_or(looks.first));
        let (results, done) = perform(file, &planned, settings, laboratory)?;
        all.performed.extend(done.performed);
        // A run that failed is tried again in each round.
        all.failed = done.failed;
        if stop.load(Ordering::Relaxed) {
            return Err(Interrupted::ByRequest.into());
        }
        let report = results.measured()?;
        let findings = report.findings();
        let undecided = findings.iter().filter(|finding| finding.outcome == Outcome::Undecided).count();
        let count =
            format!("undecided after {repetitions} repetitions: {undecided} of {} expectations", findings.len());
        if undecided == 0 {
            return Ok((results, all));
        }
        let Some(next) = rounds.peek() else {
            progress::say(&format!("{}: {count}; --most-repetitions allows no more", planned.experiment));
            return Ok((results, all));
        };
        progress::say(&format!("{}: {count}; repeating their runs up to {next} times", planned.experiment));
        more.extend(report.undecided().into_iter().map(|key| (key, *next)));
    }
}
