//! `quiclab tools perform --records`: many resolved runs by one process, so that short ones do not pay for its start.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use quiclab_experiment::AnyRun;
use quiclab_pages::results::FAILURES_FOLDER;
use quiclab_record::Records;
use quiclab_testbed::{
    laboratory::{Laboratory, Outcome, Target},
    lock::remove_leftovers,
    perform::{Host, PerformError},
    registry::refusal,
    sim::testbed::NAME as SIMULATOR,
};
use serde_json::{Value, json};

use crate::{
    session::experiment_files::read_text,
    session::{
        bounded_input,
        laboratory::{named, open_for},
        resolved::ResolvedRun,
        schedule::cost,
        signals,
    },
    settings::PerformSettings,
    terminal::output,
};

/// A line of the file.
struct Wanted {
    run: AnyRun,
    testbed: Option<String>,
    name: Option<String>,
    id: Option<String>,
}

/// Performs runs one after the other. Returns 0 where all records are there, 1 where a run failed.
///
/// # Errors
/// A line that is no resolved run, runs of different testbeds, a missing program, an interruption.
pub fn perform_many(settings: &PerformSettings) -> Result<u8> {
    let stop = signals::stop_flag()?;
    let folder = settings.records.as_deref().context("--records is given")?;
    let all = read(&settings.file)?;
    let Some(first) = all.first() else { return Ok(0) };
    let default = matches!(first.run, AnyRun::Models(_)).then_some(SIMULATOR);
    let name = settings.testbed.as_deref().or(first.testbed.as_deref()).or(default);
    let testbed = named(name).with_context(|| settings.file.display().to_string())?;
    let mut laboratory = open_for(&first.run, testbed, &settings.stacks, stop)?;
    laboratory.stack_store.waits_for_turn = !settings.no_wait;
    if settings.no_build {
        laboratory.stack_store.cache.forbid_making();
    }
    for (number, wanted) in all.iter().enumerate() {
        check(&laboratory, wanted, first)
            .with_context(|| format!("{}: run {}", settings.file.display(), number + 1))?;
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let records = Records::open(folder)?;
    let failures = folder.join(FAILURES_FOLDER);
    remove_leftovers(folder, &failures)?;
    let timeout = settings.wall_timeout;
    let host = laboratory.host(0, timeout)?;
    let runs: Vec<_> = all.iter().map(|wanted| wanted.run.clone()).collect();
    if let Some((name, why)) = laboratory.prepare(&runs, timeout)?.first_key_value() {
        bail!("{name} could not be built: {why}");
    }
    let mut failed = false;
    for wanted in &all {
        let output_tail = perform_one(&laboratory, wanted, &records, &failures, &host)?;
        failed |= output_tail["record"].is_null();
        output::print(&format!("{output_tail}\n"))?;
    }
    Ok(u8::from(failed))
}

fn check(laboratory: &Laboratory, wanted: &Wanted, first: &Wanted) -> Result<()> {
    if wanted.testbed != first.testbed || wanted.run.kind() != first.run.kind() {
        bail!("found another testbed or kind than that of the first run, expected the same for all");
    }
    if let Some(message) = refusal(&*laboratory.testbed, &wanted.run) {
        bail!("{message}");
    }
    wanted
        .run
        .stacks()
        .into_iter()
        .try_for_each(|name| laboratory.stack_store.source(name).map(drop))
        .context("settings")
}

/// What is printed of a run.
fn perform_one(
    laboratory: &Laboratory,
    wanted: &Wanted,
    records: &Records,
    failures: &Path,
    host: &Host,
) -> Result<Value> {
    let versions = laboratory.versions(&wanted.run)?;
    let id = wanted.run.id(&versions);
    if let Some(expected) = wanted.id.as_ref().filter(|expected| **expected != id) {
        bail!("found the run {id}, expected {expected}: it was planned with other versions than {versions:?}");
    }
    let name = wanted.name.clone().unwrap_or_else(|| wanted.run.folder_name(&versions));
    let target = Target { records, name: &name, failures };
    Ok(match laboratory.perform(&wanted.run, target, host) {
        Ok(outcome) => {
            let cost = match &outcome {
                Outcome::Performed(performed) => serde_json::to_value(cost(&name, performed))?,
                Outcome::WasThere => Value::Null,
            };
            let path = records.folder().join(&name).display().to_string();
            json!({ "id": id, "name": name, "record": path, "performed": !cost.is_null(), "cost": cost })
        }
        Err(PerformError::Testbed(error)) => return Err(error),
        Err(PerformError::Run { failure, kept }) => {
            let kept = kept.map(|kept| kept.display().to_string());
            json!({ "id": id, "name": name, "record": null, "failure": failure.to_string(), "kept": kept })
        }
    })
}

fn read(path: &Path) -> Result<Vec<Wanted>> {
    let text = match path == Path::new("-") {
        true => bounded_input::read_text(path, quiclab_inputs::MOST_TEXT_BYTES, "JSON lines")?,
        false => read_text(path)?,
    };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(number, line)| wanted(&format!("{}: line {}", path.display(), number + 1), line)).collect()
}

/// A line is a resolved run, or one with its name and identity.
fn wanted(place: &str, line: &str) -> Result<Wanted> {
    let value: Value = serde_json::from_str(line).with_context(|| format!("{place}: not JSON"))?;
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let (name, id) = (text("name"), text("id"));
    // It becomes the name of a folder.
    if let Some(name) = name.as_ref().filter(|name| name.starts_with('.') || name.contains('/') || name.is_empty()) {
        bail!("{place}: name: found {name:?}, expected a folder name without a slash that does not begin with a dot");
    }
    let inner = if value["run"].is_object() { &value["run"] } else { &value };
    let ResolvedRun { run, testbed } = ResolvedRun::parse(place, &inner.to_string())?;
    Ok(Wanted { run, testbed, name, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_is_refused_with_its_line() {
        for name in ["../x", "", ".x", "a/b"] {
            let line = json!({ "name": name, "run": {} }).to_string();
            let error = wanted("runs: line 3", &line).err().map(|error| format!("{error:#}")).unwrap_or_default();
            assert!(error.contains("runs: line 3: name: found"), "{error}");
        }
        let error = wanted("runs: line 3", "{").err().map(|error| format!("{error:#}")).unwrap_or_default();
        assert!(error.starts_with("runs: line 3: not JSON"), "{error}");
    }
}
