//! `quiclab verify`

mod bundle;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::{AnyRun, RELEASE, run::Versions};
use quiclab_record::{AnyRecord, Contents, RecordError, Records, RunFile, differences, layout::RUN_FILE};
use quiclab_testbed::{
    laboratory::{Laboratory, Variables},
    perform::PerformError,
    registry::testbed_of,
    testbed::is_sample,
};
use quiclab_units::ShowPath;
use serde_json::json;

use crate::{
    session::{
        laboratory::{open_for, prepare_only},
        signals,
    },
    settings::VerifySettings,
    terminal::output,
};

/// What came of repeating a run.
pub struct Repeated {
    /// The files that differ, and how.
    pub differences: BTreeMap<String, String>,
    /// Whether the same release of quiclab has made both.
    pub is_same_release: bool,
}

/// Runs a record's run again, unless the record is not what it was when it was written; or checks a bundle. Returns 0 where every byte is the
/// same, 1 where not.
///
/// # Errors
/// Where the record cannot be read, this machine would run it with other versions, or the run fails.
pub fn verify(settings: &VerifySettings) -> Result<u8> {
    let stop = signals::stop_flag()?;
    if settings.record.is_file() {
        return bundle::verify(settings, stop);
    }
    if let Some(sample) = settings.sample {
        bail!(
            "--sample {sample}: {} is a record, expected a bundle, which has several\nhint: quiclab bundle DIR out.zip",
            settings.record.shown()
        );
    }
    let damage = damage(&settings.record)?;
    if !damage.is_empty() {
        show(settings, &damage, true)?;
        return Ok(1);
    }
    AnyRecord::load(&settings.record)?;
    let Repeated { differences, is_same_release } = repeat(&settings.record, settings, stop)?;
    show(settings, &differences, is_same_release)?;
    Ok(u8::from(!differences.is_empty()))
}

/// Performs the run of the record in `folder` once more, and compares. Of files that the record lacks, hashes are compared.
///
/// # Errors
/// A run in real time, a stack or a version that this machine does not have, or a run that fails.
pub fn repeat(folder: &Path, settings: &VerifySettings, stop: Arc<AtomicBool>) -> Result<Repeated> {
    let RunFile { run, versions, .. } = &RunFile::read_any(folder)?;
    if is_sample(versions) {
        bail!(
            "{}: found a run in real time, whose packets are never the same twice; expected one in virtual time, which can be repeated \
             byte for byte\nhint: run the experiment again, and let quiclab ab say which metrics differ by more than their spread",
            folder.join(RUN_FILE).shown()
        );
    }
    let testbed = testbed_of(versions).with_context(|| folder.join(RUN_FILE).shown())?;
    let laboratory = open_for(run, testbed, &settings.stacks, stop)?;
    for name in run.stacks() {
        if laboratory.stack_store.source(name).is_err() {
            bail!("{}: {}", folder.shown(), missing_stack(name, &laboratory));
        }
    }
    let timeout = settings.wall_timeout;
    prepare_only(&laboratory, run, timeout)?;
    let here = laboratory.versions(run)?;
    check_versions(versions, &here)?;
    let scratch = laboratory.stack_store.cache.scratch("").context("a folder for the second record")?;
    let records = Records::open(scratch.path())?;
    let name = match run {
        AnyRun::Transfer(run) => run.settings.stack.name.as_str(),
        AnyRun::Models(run) => run.experiment.as_str(),
    };
    status!("quiclab: repeating {name}, repetition {}", run.repetition());
    let (variables, failures) = (Variables::default(), scratch.path().join("failed"));
    let host = laboratory.host(0, timeout)?;
    let performed = match laboratory.perform_with(run, &variables, &records, &failures, &host) {
        Ok(performed) => performed,
        Err(PerformError::Testbed(error)) => return Err(error),
        Err(PerformError::Run { failure, .. }) => bail!("the run failed this time: {failure}"),
    };
    let is_same_release = versions.get(RELEASE) == here.get(RELEASE);
    Ok(Repeated { differences: differences(folder, &performed.record)?, is_same_release })
}

/// The files of a record that are missing or were changed after they were written, and how.
fn damage(record: &Path) -> Result<BTreeMap<String, String>> {
    let changes = Contents::changes(record)?;
    let place = format!("{}/", record.shown());
    let change = |change: RecordError| {
        let brief = change.brief();
        let brief = brief.strip_prefix(&place).unwrap_or(&brief).to_owned();
        brief.split_once(": ").map_or((brief.clone(), String::new()), |(file, what)| (file.to_owned(), what.to_owned()))
    };
    Ok(changes.into_iter().map(change).collect())
}

/// What is wrong where the stack of a record is not there.
fn missing_stack(name: &str, laboratory: &Laboratory) -> String {
    let known =
        laboratory.stack_store.default_builds().map(|manifest| manifest.name.clone()).collect::<Vec<_>>().join(", ");
    // Options of its build stand behind the name.
    let base = name.split_once(' ').map_or(name, |(base, _)| base);
    format!(
        "the record was made with the stack {name:?}, which is not one of {known}\n\
         hint: if it is your own stack, add --stack PATH with the folder or the program of {base}"
    )
}

/// Runs with other versions are different runs, whose bytes may differ. The release of quiclab does not count, as in the identity of a run.
fn check_versions(recorded: &Versions, here: &Versions) -> Result<()> {
    let names = recorded.keys().chain(here.keys()).collect::<std::collections::BTreeSet<_>>();
    let none = "nothing".to_owned();
    let different: Vec<_> = names
        .into_iter()
        .filter(|name| *name != RELEASE && recorded.get(*name) != here.get(*name))
        .map(|name| {
            let [recorded, here] = [recorded, here].map(|versions| versions.get(name).unwrap_or(&none));
            format!("  {name}: recorded with {recorded}, here {here}")
        })
        .collect();
    if different.is_empty() {
        return Ok(());
    }
    bail!(
        "the record was made with other versions, so its bytes can differ:\n{}\nhint: install those versions, or run \
         the experiment again",
        different.join("\n")
    )
}

fn show(settings: &VerifySettings, found: &BTreeMap<String, String>, is_same_release: bool) -> Result<()> {
    let record = settings.record.shown();
    if settings.json {
        let all = json!({ "record": record.to_string(), "same": found.is_empty(), "differences": found });
        return output::print(&(serde_json::to_string_pretty(&all)? + "\n"));
    }
    let except = if is_same_release { "" } else { ", except for the release of quiclab in run.toml" };
    let mut text = if found.is_empty() { format!("{record}: every byte is the same{except}\n") } else { String::new() };
    for (file, difference) in found {
        text.push_str(&format!("{record}: {file} differs: {difference}\n"));
    }
    output::print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_different_version_is_named() {
        let one = Versions::from([("qemu".to_owned(), "7.2".to_owned())]);
        let other = Versions::from([("qemu".to_owned(), "10.0".to_owned()), ("kernel".to_owned(), "6.1".to_owned())]);
        assert!(check_versions(&one, &one).is_ok());
        let error = check_versions(&one, &other).unwrap_err().to_string();
        assert!(error.contains("qemu: recorded with 7.2, here 10.0"), "{error}");
        assert!(error.contains("kernel: recorded with nothing, here 6.1"), "{error}");
    }

    #[test]
    fn another_release_of_quiclab_makes_the_same_run() {
        let of = |release: &str| Versions::from([("quiclab".to_owned(), release.to_owned())]);
        assert!(check_versions(&of("0.1.0"), &of("0.2.0")).is_ok());
    }
}
