//! `quiclab run --until-decided`: repeats the runs of undecided claims.

use anyhow::Result;
use quiclab_report::{InterimAnalyses, Outcome};

use super::rounds::Rounds;
use quiclab_pages::results::Results;

use crate::{
    session::{planned::Planned, schedule::Done},
    settings::RunSettings,
    terminal::progress,
};

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
    rounds: &Rounds,
    looks: InterimAnalyses,
    plan: impl Fn(u32) -> Result<Planned>,
) -> Result<(Results, Done)> {
    // The parts of the error are those of the findings.
    let mut schedule = looks.schedule(1.0).map(|(_, repetitions, _)| repetitions).peekable();
    let plan = |count| Ok(Planned { looks: Some(looks), ..plan(count)? });
    rounds.perform(plan, |results, planned, _| {
        let repetitions = schedule.next().unwrap_or(looks.most);
        let report = results.measured()?;
        let findings = report.findings();
        let undecided = findings.iter().filter(|finding| finding.outcome == Outcome::Undecided).count();
        let count =
            format!("undecided after {repetitions} repetitions: {undecided} of {} expectations", findings.len());
        if undecided == 0 {
            return Ok(Vec::new());
        }
        let Some(next) = schedule.peek() else {
            progress::say(&format!("{}: {count}; --most-repetitions allows no more", planned.experiment));
            return Ok(Vec::new());
        };
        progress::say(&format!("{}: {count}; repeating their runs up to {next} times", planned.experiment));
        Ok(report.undecided().into_iter().map(|key| (key, *next)).collect())
    })
}
