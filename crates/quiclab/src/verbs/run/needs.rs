//! `quiclab run --needs`: the resolved runs, their records, and what a machine must have to perform them.

use std::{collections::BTreeMap, io::Write};

use anyhow::{Context, Result, bail};
use quiclab_testbed::{cache::Cache, guest::agent::agent, hash, vm::testbed::NAME as VM};
use serde_json::{Map, Value, json};

use super::Planning;
use crate::{
    session::{laboratory, resolved::ResolvedRun},
    settings::RunSettings,
};

/// Version of these lines.
const SCHEMA: u32 = 1;

/// Runs with the same stacks need the same things.
struct Group {
    stacks: Vec<String>,
    /// What is needed of the cache, with the SHA-256 of the list of its files' hashes.
    things: BTreeMap<String, String>,
}

/// What is known of a run, besides its settings.
struct Row {
    id: String,
    name: String,
    group: usize,
}

/// Makes what the runs need and prints JSON lines: one that says what there is, and one for each run. Runs whose stacks cannot be built are an
/// error: nobody else will build them.
///
/// # Errors
/// What cannot be built or read.
pub fn show_needs((planned, opened): &Planning, settings: &RunSettings) -> Result<u8> {
    let timeout = settings.wall_timeout;
    let mut groups: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for (place, run) in planned.runs.iter().enumerate() {
        groups.entry(run.stacks().into_iter().cloned().collect()).or_default().push(place);
    }
    let mut needs: Vec<Group> = Vec::new();
    let mut rows: BTreeMap<usize, Row> = BTreeMap::new();
    for (group, (stacks, places)) in groups.into_iter().enumerate() {
        // A laboratory of its own: it knows what it used for these stacks alone.
        let stop = opened.stack_store.stop.clone();
        let testbed = laboratory::named(Some(opened.testbed.name()))?;
        let runs: Vec<_> = places.iter().map(|place| planned.runs[*place].clone()).collect();
        let own = laboratory::open_for(runs.first().context("a group has runs")?, testbed, &settings.stacks, stop)?;
        if let Some((name, why)) = own.prepare(&runs, timeout)?.first_key_value() {
            bail!("{name} could not be built: {why}");
        }
        for (place, run) in places.into_iter().zip(&runs) {
            let made_with = own.versions(run)?;
            rows.insert(place, Row { id: run.id(&made_with), name: run.folder_name(&made_with), group });
        }
        let things = own.stack_store.cache.used()?.into_iter().map(|used| (used.name, used.sha256)).collect();
        needs.push(Group { stacks, things });
    }
    let cache = &opened.stack_store.cache;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let line = |value: &Value, out: &mut dyn Write| -> Result<()> { Ok(writeln!(out, "{value}")?) };
    line(&header(opened.testbed.name(), cache, &needs, &opened.stack_store.stacks.display().to_string())?, &mut out)?;
    for (place, run) in planned.runs.iter().enumerate() {
        let Row { id, name, group } = &rows[&place];
        let testbed = Some(opened.testbed.name().to_owned());
        let resolved = ResolvedRun { run: run.clone(), testbed }.to_json()?;
        line(&json!({ "id": id, "name": name, "group": group, "run": resolved }), &mut out)?;
    }
    out.flush()?;
    Ok(0)
}

fn header(testbed: &str, cache: &Cache, groups: &[Group], stacks: &str) -> Result<Value> {
    let things = groups.iter().flat_map(|group| &group.things);
    let things: Map<_, _> = things.map(|(name, sums)| (name.clone(), json!({ "sums_sha256": sums }))).collect();
    let program = std::env::current_exe().context("this program's own path")?;
    let mut programs = vec![("quiclab", program)];
    if testbed == VM {
        programs.push(("quiclab-agent", agent()?));
    }
    let mut hashes = Map::new();
    for (name, path) in programs {
        let digest = hash::of_file(&path).with_context(|| path.display().to_string())?;
        hashes.insert(name.to_owned(), json!({ "path": path.display().to_string(), "sha256": digest }));
    }
    let needs =
        groups.iter().map(|group| json!({ "stacks": group.stacks, "needs": group.things.keys().collect::<Vec<_>>() }));
    let needs: Vec<Value> = needs.collect();
    Ok(json!({
        "schema": SCHEMA,
        "quiclab": env!("CARGO_PKG_VERSION"),
        "testbed": testbed,
        "cache": cache.path("").display().to_string(),
        "stacks": stacks,
        "programs": hashes,
        "qemu": if testbed == VM { Some(quiclab_testbed::vm::machine::qemu_version()?) } else { None },
        "things": things,
        "groups": needs,
    }))
}
