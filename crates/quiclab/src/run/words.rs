//! What is to be run, in words.

use std::{collections::BTreeMap, fmt::Write as _};

use quiclab_experiment::{Plan, changed_settings, labels, run::Run};

use crate::{cli::RunArguments, simulate};

/// More reasons than this are only counted.
const MOST_REASONS: usize = 6;

/// The runs of an experiment, a line each, and what the command line changes about it.
pub fn transfers_in_words(plan: &Plan, arguments: &RunArguments) -> String {
    let mut text = format!("{}: {} runs{}\n", plan.experiment, plan.runs.len(), changed(arguments));
    for note in notes(plan, arguments) {
        let _ = writeln!(text, "  {note}");
    }
    if let Some(common) = common_settings(plan) {
        let _ = writeln!(text, "  in all runs: {common}");
    }
    for (run, label) in plan.runs.iter().zip(run_labels(plan)) {
        let settings = &run.settings;
        let _ =
            writeln!(text, "  {label}: {}, {}, seed {}", settings.workload.size, settings.path.described(), run.seed);
    }
    text
}

/// The same of a scenario.
pub fn scenario_in_words(planned: &simulate::Planned, arguments: &RunArguments) -> String {
    let plan = &planned.plan;
    let mut text = format!("{}: {} simulations{}\n", planned.scenario.name, plan.runs.len(), changed(arguments));
    for (run, label) in plan.runs.iter().zip(simulate::labels(plan)) {
        let flows: u64 = run.settings.flows.values().map(|group| u64::from(group.count)).sum();
        let (rate, duration) = (run.settings.bottleneck.rate, run.settings.scenario.duration);
        let _ = writeln!(text, "  {label}: {flows} flows, {rate}, {duration}, seed {}", run.seed);
    }
    text
}

/// What a user should know of a plan before it is run: a sentence each.
pub fn notes(plan: &Plan, arguments: &RunArguments) -> Vec<String> {
    let mut notes = Vec::new();
    if !plan.substituted.is_empty() {
        notes.push(format!(
            "the file does not name the stack {0}; running it with {0} instead of the stacks that it names",
            plan.substituted.join(", ")
        ));
    }
    let is_about_its_settings = !plan.published.is_empty() || !plan.expectations.is_empty();
    if !arguments.set.settings.is_empty() && is_about_its_settings {
        notes.push("its expectations and published values refer to its own settings, not to those of --set".to_owned());
    }
    for name in &plan.unused {
        notes.push(format!("no run uses the stack {name} of --stack"));
    }
    if plan.left_out > 0 {
        let mut note = format!("skipping {} combinations of the matrix that a stack does not claim", plan.left_out);
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

/// The settings that are not at their defaults in any run, and the same in all; `None` where there are none.
fn common_settings(plan: &Plan) -> Option<String> {
    let of = |run: &Run| changed_settings(&run.settings).collect::<BTreeMap<_, _>>();
    let (first, others) = plan.runs.split_first()?;
    let mut common = of(first);
    for run in others {
        let own = of(run);
        common.retain(|key, value| own.get(key) == Some(value));
    }
    let parts: Vec<_> = common.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The settings of the command line, behind a heading.
fn changed(arguments: &RunArguments) -> String {
    let mut text = String::new();
    for (key, value) in &arguments.set.settings {
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
