//! `quiclab verify` of a bundle: the hash of every file, and runs of it once more.

use std::{
    collections::BTreeMap,
    fs::File,
    io::BufReader,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result, bail};
use quiclab_experiment::run::is_sample;
use quiclab_inputs::open_regular;
use quiclab_record::bundle::{Bundle, Limits};
use quiclab_record::{RunFile, layout::RUN_FILE};
use quiclab_testbed::{cache::Cache, hash, perform::Interrupted};
use quiclab_units::ShowPath;
use serde_json::json;

use crate::{
    settings::VerifySettings,
    terminal::output,
    verbs::{
        bundle::{About, BUNDLE_FILE, RESULTS, SCHEMA},
        verify::repeat,
    },
};

/// Most wrong files that are listed.
const MOST_WRONG: usize = 20;

/// What came of a bundle.
#[derive(Default)]
struct Found {
    files: usize,
    /// Files whose bytes are not those that the list has the hash of, in words.
    wrong: Vec<String>,
    /// The records whose runs were repeated, with the files that differ.
    repeated: BTreeMap<String, BTreeMap<String, String>>,
    /// Records that cannot be repeated because their time was real.
    in_real_time: usize,
    /// Records that were not chosen.
    not_chosen: usize,
}

/// Checks a bundle. Returns 0 where everything is the same, 1 where not.
///
/// # Errors
/// An archive that is refused, a run that cannot be repeated here.
pub fn verify(settings: &VerifySettings, stop: Arc<AtomicBool>) -> Result<u8> {
    let place = || settings.record.shown();
    let file = BufReader::new(open_regular(&settings.record).with_context(place)?);
    let mut bundle = Bundle::open(file, Limits::default()).with_context(place)?;
    status!("quiclab: {}: comparing the hashes of {} files", place(), bundle.files().count());
    let mut found = Found { files: bundle.files().count(), ..Found::default() };
    found.wrong = bundle.check(MOST_WRONG, |_| {}).iter().map(ToString::to_string).collect();
    if found.wrong.is_empty() {
        let about = read_about(&mut bundle).with_context(place)?;
        let names = chosen(&about.records, settings.sample.unwrap_or(usize::MAX));
        found.not_chosen = about.records.len() - names.len();
        for name in names {
            if stop.load(Ordering::Relaxed) {
                return Err(Interrupted::ByRequest.into());
            }
            one(&mut bundle, &name, settings, &stop, &mut found).with_context(|| format!("{}: {name}", place()))?;
        }
    }
    show(settings, &found)?;
    let is_same = found.wrong.is_empty() && found.repeated.values().all(BTreeMap::is_empty);
    Ok(u8::from(!is_same))
}

/// Repeats the run of one record.
fn one(
    bundle: &mut Bundle<BufReader<File>>,
    name: &str,
    settings: &VerifySettings,
    stop: &Arc<AtomicBool>,
    found: &mut Found,
) -> Result<()> {
    let cache = Cache::from_environment()?;
    let scratch = cache.scratch("").context("a folder for a record")?;
    let folder = scratch.path().join("record");
    bundle.extract(&format!("{RESULTS}/{name}/"), &folder)?;
    if is_sample(&RunFile::read_any(&folder)?.versions) {
        found.in_real_time += 1;
        return Ok(());
    }
    let repeated = repeat(&folder, settings, stop.clone())?;
    found.repeated.insert(name.to_owned(), repeated.differences);
    Ok(())
}

fn read_about(bundle: &mut Bundle<BufReader<File>>) -> Result<About> {
    let about: About = serde_json::from_slice(&bundle.read(BUNDLE_FILE)?).context(BUNDLE_FILE)?;
    if about.schema > SCHEMA {
        bail!(
            "{BUNDLE_FILE}: found schema {}, expected at most {SCHEMA}\nhint: use a newer version of quiclab",
            about.schema
        );
    }
    let there: std::collections::BTreeSet<&str> = bundle.files().map(|(name, _, _)| name).collect();
    match about
        .records
        .iter()
        .find(|name| name.contains('/') || !there.contains(format!("{RESULTS}/{name}/{RUN_FILE}").as_str()))
    {
        Some(name) => bail!(
            "{BUNDLE_FILE}: records: found {:?}, expected the name of a folder in {RESULTS}/ with {RUN_FILE}",
            Path::new(name).shown().to_string()
        ),
        None => Ok(about),
    }
}

/// Chooses at most `most` of the records, always the same ones: those with the smallest hashes of their names, which have nothing to do
/// with what they are of. They are in the order of `records`.
fn chosen(records: &[String], most: usize) -> Vec<String> {
    let mut by_hash: Vec<_> =
        records.iter().map(|name| (hash::Hasher::default().part(name.as_bytes()).hex(), name)).collect();
    by_hash.sort();
    by_hash.truncate(most);
    records.iter().filter(|name| by_hash.iter().any(|(_, other)| other == name)).cloned().collect()
}

fn show(settings: &VerifySettings, found: &Found) -> Result<()> {
    let place = settings.record.shown().to_string();
    if settings.json {
        let all = json!({
            "bundle": place,
            "files": found.files,
            "wrong": found.wrong,
            "repeated": found.repeated,
            "in_real_time": found.in_real_time,
            "not_chosen": found.not_chosen,
        });
        return output::print(&(serde_json::to_string_pretty(&all)? + "\n"));
    }
    output::print(&in_words(&place, found))
}

fn in_words(place: &str, found: &Found) -> String {
    let mut text = String::new();
    for wrong in &found.wrong {
        text.push_str(&format!("{place}: {wrong}\n"));
    }
    if found.wrong.len() == MOST_WRONG {
        text.push_str(&format!("{place}: and perhaps more\n"));
    }
    if !found.wrong.is_empty() {
        return text;
    }
    text.push_str(&format!("{place}: the hashes of all {} files are right\n", found.files));
    let differ = found.repeated.iter().flat_map(|(name, files)| files.iter().map(move |file| (name, file)));
    for (name, (file, how)) in differ {
        text.push_str(&format!("{place}: {name}: {file} differs: {how}\n"));
    }
    let same = found.repeated.values().filter(|files| files.is_empty()).count();
    text.push_str(&format!("{place}: {same} of {} repeated runs are the same in every byte\n", found.repeated.len()));
    if found.in_real_time > 0 {
        text.push_str(&format!("{place}: {} runs in real time cannot be repeated\n", found.in_real_time));
    }
    if found.not_chosen > 0 {
        text.push_str(&format!("{place}: {} runs were not chosen\n", found.not_chosen));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_runs_are_chosen_each_time_and_in_the_order_of_the_plan() {
        let records: Vec<_> = (0..50).map(|number| format!("quiche-{number:02}-0123456789abcdef")).collect();
        let some = chosen(&records, 5);
        assert_eq!(some.len(), 5);
        assert!(some.is_sorted());
        assert_eq!(some, chosen(&records, 5));
        let more = chosen(&records, 6);
        assert!(some.iter().all(|name| more.contains(name)));
        assert_eq!(chosen(&records, usize::MAX), records);
        assert!(chosen(&records, 0).is_empty());
    }

    #[test]
    fn what_differs_is_named_by_record_and_file() {
        let different = BTreeMap::from([("wire.pcapng".to_owned(), "at byte 7".to_owned())]);
        let repeated = BTreeMap::from([("a".to_owned(), BTreeMap::new()), ("b".to_owned(), different)]);
        let text = in_words("x.zip", &Found { files: 9, repeated, not_chosen: 3, ..Found::default() });
        assert!(text.contains("x.zip: b: wire.pcapng differs: at byte 7\n"), "{text}");
        assert!(text.contains("1 of 2 repeated runs") && text.contains("3 runs were not chosen"), "{text}");
    }
}
