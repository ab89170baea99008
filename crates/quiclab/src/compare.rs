//! `quiclab compare`

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use quiclab_report::{Comparison, Question, ReportInput, settings_key};
use quiclab_testbed::testbed::is_sample;

use crate::{ab, cli::CompareArguments, results::Results};

/// Compares two folders of results, and shows what came of it as `quiclab ab` does. Returns how many conditions fail.
///
/// # Errors
/// Where one cannot be read, or no settings are in both.
pub fn compare(arguments: &CompareArguments) -> Result<u8> {
    let inputs = [&arguments.one, &arguments.other];
    let names = inputs.map(|folder| folder.display().to_string());
    let [one, other] = [
        Results::open(inputs[0])?.measured_transfers("compare")?,
        Results::open(inputs[1])?.measured_transfers("compare")?,
    ];
    let question = Question {
        names,
        conditions: arguments.judge.fail_if.clone(),
        metrics: arguments.judge.metrics.clone(),
        alpha: ab::ALPHA,
        not_judged: BTreeMap::new(),
    };
    let Some(comparison) = Comparison::of(&one, &other, [&settings_key, &settings_key], &question) else {
        bail!(
            "{} and {}: found no common settings, expected some\nhint: results of the same experiment and profile",
            arguments.one.display(),
            arguments.other.display()
        );
    };
    ab::show(&comparison, Some(([&one, &other], [&settings_key, &settings_key])), &arguments.judge)
}

/// Whether any of the runs was made in real time.
pub fn are_samples(input: &ReportInput) -> bool {
    input.runs.iter().any(|run| is_sample(&run.versions))
}
