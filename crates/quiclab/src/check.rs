//! `quiclab check`

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use quiclab_report::{Finding, Outcome, findings, render_findings};
use serde_json::{Value, json};

use crate::{cli::CheckArguments, output, results::Results};

/// Exit statuses above this have other meanings.
const MOST_FAILURES: usize = 99;
/// Results lie no deeper below a folder that is named.
const DEEPEST: usize = 6;

/// Judges the expectations of all results below some folders. Returns how many do not hold, at most [`MOST_FAILURES`].
///
/// # Errors
/// Where there are no results, or a record cannot be read.
pub fn check(arguments: &CheckArguments) -> Result<u8> {
    let mut places = Vec::new();
    for folder in &arguments.folders {
        let before = places.len();
        find(folder, DEEPEST, &mut places)?;
        if places.len() == before {
            bail!(
                "{}: found no results, expected those of an experiment\nhint: quiclab run FILE makes them",
                folder.display()
            );
        }
    }
    let mut all = Vec::new();
    let mut counts = Counts::default();
    for place in &places {
        let input = Results::open(place)?.report_input()?;
        let found = findings(&input);
        found.iter().for_each(|finding| counts.add(finding, arguments.strict));
        if arguments.output.json {
            all.push(json!({
                "folder": place.display().to_string(),
                "experiment": input.experiment,
                "expectations": found,
                "left_out": input.expectations_left_out.iter().map(|one| &one.claim).collect::<Vec<_>>(),
                "failed_runs": input.failures.len(),
            }));
            continue;
        }
        let mut text = format!("{} ({})\n{}", input.experiment, place.display(), render_findings(&found));
        for expectation in &input.expectations_left_out {
            text.push_str(&format!("{:<12}  {}\n", "left out", expectation.claim));
        }
        if found.is_empty() && input.expectations_left_out.is_empty() {
            text.push_str("nothing is expected of it\n");
        }
        output::print(&(text + "\n"))?;
    }
    if arguments.output.json {
        let summary = json!({ "results": Value::Array(all), "judged": counts.all, "wrong": counts.wrong });
        output::print(&(serde_json::to_string_pretty(&summary)? + "\n"))?;
    } else {
        output::print(&format!("{} of {} expectations hold\n", counts.holding, counts.all))?;
    }
    Ok(counts.wrong.min(MOST_FAILURES) as u8)
}

#[derive(Default)]
struct Counts {
    all: usize,
    holding: usize,
    wrong: usize,
}

impl Counts {
    fn add(&mut self, finding: &Finding, strict: bool) {
        self.all += 1;
        match finding.outcome {
            Outcome::Holds => self.holding += 1,
            Outcome::Undecided if !strict => {}
            _ => self.wrong += 1,
        }
    }
}

/// Folders with results at `folder` or below it, in order of name.
fn find(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    if Results::are_in(folder) {
        found.push(folder.to_path_buf());
        return Ok(());
    }
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut below: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    below.sort();
    match depth.checked_sub(1) {
        Some(depth) => below.iter().try_for_each(|folder| find(folder, depth, found)),
        None => Ok(()),
    }
}
