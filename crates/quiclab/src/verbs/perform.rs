//! `quiclab tools perform`: exactly one resolved run, wherever it is called.

mod many;

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;
use quiclab_experiment::{AnyRun, id_of_folder};
use quiclab_pages::results::FAILURES_FOLDER;
use quiclab_record::{AnyRecord, Measured, Records, layout::RUN_FILE};
use quiclab_supplies::process::end_with_parent;
use quiclab_testbed::{
    laboratory::{Laboratory, Outcome, Target},
    lock::remove_leftovers,
    perform::PerformError,
    registry::refusal,
    sim::testbed::NAME as SIMULATOR,
};
use serde_json::{Value, json};

use crate::{
    session::{
        laboratory::{named, open_for, prepare_only},
        resolved::ResolvedRun,
        schedule::{cost, tell_goodput},
        signals,
    },
    settings::PerformSettings,
    terminal::output,
};

/// Performs a run unless its record is there. Returns 0 where the record is there, 1 where the run failed.
///
/// # Errors
/// A file that is no resolved run, a folder with something else in it, a missing program, an interruption.
pub fn perform(settings: &PerformSettings) -> Result<u8> {
    if let Some(parent) = settings.with_parent {
        end_with_parent(parent, Signal::SIGKILL)
            .with_context(|| format!("--with-parent {parent}: that process did not start this one, or has ended"))?;
    }
    let Some(record) = &settings.record else { return many::perform_many(settings) };
    let stop = signals::stop_flag()?;
    let ResolvedRun { run, testbed } = ResolvedRun::read(&settings.file)?;
    let file = settings.file.display();
    // Models run nowhere else.
    let default = matches!(run, AnyRun::Models(_)).then_some(SIMULATOR);
    let testbed = settings.testbed.as_deref().or(testbed.as_deref()).or(default);
    let testbed = named(testbed).with_context(|| file.to_string())?;
    if let Some(message) = refusal(&*testbed, &run) {
        bail!("{file}: {message}");
    }
    let mut laboratory = open_for(&run, testbed, &settings.stacks, stop)?;
    laboratory.stack_store.waits_for_turn = !settings.no_wait;
    if settings.no_build {
        laboratory.stack_store.cache.forbid_making();
    }
    for name in run.stacks() {
        laboratory.stack_store.source(name).with_context(|| format!("{file}: settings"))?;
    }
    let (parent, name) = place(record)?;
    let timeout = settings.wall_timeout;
    prepare_only(&laboratory, &run, timeout)?;
    let id = run.id(&laboratory.versions(&run)?);
    if let Some(other) = id_of_folder(&name).filter(|other| *other != id) {
        bail!(
            "--record {}: found a name that ends with the identity {other}, but the run's identity is {id}\n\
             hint: end the name with -{id}, or with no identity at all",
            record.display()
        );
    }
    let records = Records::open(parent)?;
    make_free(record, &id)?;
    let failures = parent.join(FAILURES_FOLDER);
    remove_leftovers(parent, &failures)?;
    let target = Target { records: &records, name: &name, failures: &failures };
    let told = match laboratory.perform(&run, target, &laboratory.host(0, timeout)?) {
        Ok(outcome) => told(settings, record, &laboratory, &id, outcome)?,
        Err(PerformError::Testbed(error)) => return Err(error),
        Err(PerformError::Run { failure, kept }) => {
            let kept = kept.map(|kept| kept.display().to_string());
            status!("quiclab: the run failed: {failure}");
            if let Some(kept) = &kept {
                status!("    more in {kept}");
            }
            if settings.json {
                let all = json!({ "id": id, "record": null, "failure": failure.to_string(), "kept": kept });
                output::print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
            }
            return Ok(1);
        }
    };
    output::print(&told)?;
    Ok(0)
}

/// What is printed of a record.
fn told(
    settings: &PerformSettings,
    path: &Path,
    laboratory: &Laboratory,
    id: &str,
    outcome: Outcome,
) -> Result<String> {
    let cost: Value = match &outcome {
        Outcome::Performed(performed) => {
            status!("quiclab: {}", tell_goodput(performed));
            serde_json::to_value(cost(&path.display().to_string(), performed))?
        }
        Outcome::WasThere => {
            status!("quiclab: the record already exists");
            Value::Null
        }
    };
    if !settings.json {
        return Ok(format!("{}\n", path.display()));
    }
    let measured = AnyRecord::load(path)?.measured();
    let (metrics, withheld) = match &measured {
        Measured::Transfer(measured) => (json!(measured.metrics), &measured.withheld),
        Measured::Models(measured) => (json!(measured.metrics), &measured.withheld),
    };
    let all = json!({
        "id": id,
        "testbed": laboratory.testbed.name(),
        "record": path.display().to_string(),
        "performed": matches!(outcome, Outcome::Performed(_)),
        "cost": cost,
        "metrics": metrics,
        "withheld": withheld,
        "warnings": measured.warnings(),
    });
    Ok(serde_json::to_string_pretty(&all)? + "\n")
}

/// The folder that the record is made in, and its name there.
fn place(record: &Path) -> Result<(&Path, String)> {
    let name = record.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.filter(|name| !name.starts_with('.')).with_context(|| {
        format!("--record {}: found no folder name, expected one that does not begin with a dot", record.display())
    })?;
    let parent = record.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((parent, name))
}

/// A record of another run, or a folder with something else in it, is not replaced. An empty folder makes room: under a name with an identity it
/// would be taken for a record that lacks all its files.
fn make_free(path: &Path, id: &str) -> Result<()> {
    let is_empty = || path.read_dir().is_ok_and(|mut entries| entries.next().is_none());
    if !path.exists() {
        return Ok(());
    }
    if is_empty() {
        return fs::remove_dir(path).with_context(|| format!("--record {}: the empty folder", path.display()));
    }
    if !path.join(RUN_FILE).is_file() {
        bail!("--record {}: found a folder that is not a record, expected an empty folder or none", path.display());
    }
    let record = match AnyRecord::load(path) {
        Ok(record) => record,
        // It is moved out of the way when the run is performed.
        Err(error) if error.is_damage() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let there = record.id();
    if there != id {
        bail!(
            "--record {}: found the record of another run, {there}, expected {id} or no record\nhint: choose another DIR",
            path.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_folder_is_no_record_even_under_the_name_of_one() {
        let folder = tempfile::tempdir().unwrap();
        let id = "0123456789abcdef";
        let (records, name) = (Records::open(folder.path()).unwrap(), format!("x-01-{id}"));
        let path = folder.path().join(&name);
        make_free(&path, id).unwrap();
        fs::create_dir(&path).unwrap();
        make_free(&path, id).unwrap();
        assert!(!records.contains(&name));
    }

    #[test]
    fn a_folder_with_something_else_in_it_stays() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("notes"), "mine").unwrap();
        let error = make_free(folder.path(), "0123456789abcdef").unwrap_err().to_string();
        assert!(error.contains("found a folder that is not a record"), "{error}");
        assert!(folder.path().join("notes").is_file());
    }
}
