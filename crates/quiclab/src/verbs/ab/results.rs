//! A comparison of two result folders that are there already, for example from two testbeds.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use quiclab_pages::{folder::holds_results, results::Results};
use quiclab_report::{Comparison, Key, Question, settings_key};
use quiclab_testbed::shell::quoted;

use super::{ALPHA, cpu, show};

use crate::{
    settings::{AbSettings, JudgeSettings},
    terminal::progress,
};

/// Returns A and B where both are folders that `quiclab run` has filled; `None` where none is.
///
/// # Errors
/// Where only one of several is, and where an option says how to run what was run already.
pub fn folders(settings: &AbSettings) -> Result<Option<[PathBuf; 2]>> {
    let is_result = |path: &&String| holds_results(Path::new(path));
    let Some(folder) = settings.paths.iter().find(is_result) else { return Ok(None) };
    let [one, other] = &settings.paths[..] else {
        bail!(
            "{folder} is a result folder; it can be compared with one other, but there are {} paths",
            settings.paths.len()
        );
    };
    if let Some(no) = [one, other].into_iter().find(|path| !is_result(path)) {
        bail!("{no}: found no results of quiclab run, expected some, because {folder} has results");
    }
    let options = [
        ("--a", !settings.a.is_empty()),
        ("--b", !settings.b.is_empty()),
        ("--set", !settings.set.is_empty()),
        ("--profile", settings.profile.is_some()),
        ("--filter", !settings.filters.is_empty()),
        ("--reps", settings.repetitions.is_some()),
        ("--until-decided", settings.until_decided),
        ("--jobs", settings.jobs.is_some()),
        ("--out", settings.out.is_some()),
        ("--stacks", settings.stacks.is_some()),
        ("--rebuild", settings.rebuild),
    ];
    if let Some((option, _)) = options.iter().find(|(_, is_given)| *is_given) {
        bail!("{option} has no meaning here: {one} and {other} are result folders, and nothing is run");
    }
    Ok(Some([one.into(), other.into()]))
}

/// Compares two folders of results, and shows what came of it. Returns how many conditions fail.
///
/// # Errors
/// Where one cannot be read, or no settings are in both.
pub fn compare(folders: [PathBuf; 2], judge: &JudgeSettings) -> Result<u8> {
    let names = folders.each_ref().map(|folder| folder.display().to_string());
    let read = |folder: &Path| Results::open(folder, progress::say)?.pictured_transfers("ab");
    let inputs = [read(&folders[0])?, read(&folders[1])?];
    let question = Question {
        names: names.clone(),
        conditions: judge.conditions.clone(),
        metrics: judge.metrics.clone(),
        alpha: ALPHA,
        not_judged: BTreeMap::new(),
        command: format!("quiclab ab {} {}", quoted(&names[0]), quoted(&names[1])),
    };
    let keys: [Key; 2] = [&settings_key, &settings_key];
    let Some(mut comparison) = Comparison::of(&inputs[0], &inputs[1], keys, &question) else {
        bail!(
            "{} and {}: found no common settings, expected some\nhint: results of the same experiment and profile",
            names[0],
            names[1]
        );
    };
    cpu::add(&mut comparison, &inputs, keys, folders.each_ref().map(PathBuf::as_path));
    show(&comparison, Some((inputs.each_ref(), keys)), judge)
}
