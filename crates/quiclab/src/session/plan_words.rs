//! What is to be run, in words.

use std::{collections::BTreeMap, fmt::Write as _};

use quiclab_experiment::{AnyRun, Plan, changed_settings, labels};

use super::planned::Planned;
use crate::settings::RunSettings;

/// Most reasons that are told; more are only counted.
const MOST_REASONS: usize = 6;

/// The runs of a plan, a line each, and what the command line changes about it.
pub fn in_words(planned: &Planned, settings: &RunSettings) -> String {
    let what = if planned.kind == AnyRun::MODELS { "simulations" } else { "runs" };
    let mut text = format!("{}: {} {what}{}\n", planned.experiment, planned.runs.len(), changed(settings));
    for note in &planned.notes {
        let _ = writeln!(text, "  {note}");
    }
    if let Some(common) = common_settings(&planned.runs) {
        let _ = writeln!(text, "  in all runs: {common}");
    }
    for (run, label) in planned.runs.iter().zip(&planned.labels) {
        let what = match run {
            AnyRun::Transfer(run) => {
                format!("{}, {}", run.settings.workload.described(), run.settings.path_described())
            }
            AnyRun::Models(run) => {
                let settings = &run.settings;
                let flows: u64 = settings.flows.values().map(|group| u64::from(group.count)).sum();
                format!("{flows} flows, {}, {}", settings.bottleneck.rate, settings.scenario.duration)
            }
        };
        let _ = writeln!(text, "  {label}: {what}, seed {}", run.seed());
    }
    text
}

/// What a user should know of a plan before it is run: a sentence each.
pub fn notes(plan: &Plan, settings: &RunSettings) -> Vec<String> {
    let mut notes = Vec::new();
    if !plan.substituted.is_empty() && plan.names_stacks {
        notes.push(format!(
            "the file does not name the stack {0}; running it with {0} instead of the stacks that it names",
            plan.substituted.join(", ")
        ));
    }
    let is_about_its_settings =
        !plan.experiment.published.is_empty() || !plan.experiment.common.expectations.is_empty();
    if !settings.set.is_empty() && is_about_its_settings {
        notes.push("its expectations and published values refer to its own settings, not to those of --set".to_owned());
    }
    for name in &plan.unused {
        notes.push(format!("no run uses the stack {name} of --stack"));
    }
    if plan.skipped > 0 {
        let mut note = format!("skipping {} combinations of the matrix that a stack does not claim", plan.skipped);
        let mut reasons: Vec<_> = plan.left_out_because.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (reason, count) in reasons.iter().take(MOST_REASONS) {
            let _ = write!(note, "\n    {count}: {reason}");
        }
        if let Some(more) = reasons.len().checked_sub(MOST_REASONS).filter(|more| *more > 0) {
            let _ = write!(note, "\n    and {more} other reasons");
        }
        notes.push(note);
    }
    notes
}

/// The settings that are not at their defaults in any run, and the same in all; `None` where there are none, and of models.
fn common_settings(runs: &[AnyRun]) -> Option<String> {
    let of = |run: &AnyRun| match run {
        AnyRun::Transfer(run) => Some(changed_settings(&run.settings).collect::<BTreeMap<_, _>>()),
        AnyRun::Models(_) => None,
    };
    let (first, others) = runs.split_first()?;
    let mut common = of(first)?;
    for run in others {
        let own = of(run)?;
        common.retain(|key, value| own.get(key) == Some(value));
    }
    let parts: Vec<_> = common.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The settings of the command line, behind a heading.
fn changed(settings: &RunSettings) -> String {
    let mut text = String::new();
    for (key, value) in &settings.set {
        let _ = write!(text, "{} {key} = {value}", if text.is_empty() { " with" } else { "," });
    }
    text
}

/// Each run in a few words.
pub fn run_labels(plan: &Plan) -> Vec<String> {
    let settings: Vec<_> = plan.runs.iter().map(|run| &run.settings).collect();
    let named = plan.runs.iter().zip(labels(&settings));
    named.map(|(run, label)| format!("{label}, repetition {}", run.repetition)).collect()
}
