//! Which crates use which: layers.toml.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use quiclab_testing::files::repository;

use crate::source::crates;

const FILE: &str = "crates/testing/tests/structure/layers.toml";
const LAYERS: &str = include_str!("layers.toml");
/// Tests of every crate may use this one.
const TESTING: &str = "testing";

/// Crates of this workspace by their names, without `quiclab-` before them.
type Names = BTreeSet<String>;

/// What a crate uses.
#[derive(Default)]
struct Uses {
    /// The crate itself, and its build script.
    code: Names,
    /// Its tests.
    tests: Names,
}

/// What layers.toml says.
struct Permitted {
    /// The number of each crate's layer.
    layers: BTreeMap<String, usize>,
    uses: BTreeMap<String, Uses>,
    for_tests: Names,
}

fn names(value: &toml::Value) -> Names {
    value.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

fn permitted() -> Permitted {
    let table: toml::Table = LAYERS.parse().unwrap();
    let (mut layers, mut uses) = (BTreeMap::new(), BTreeMap::<_, Uses>::new());
    for (number, layer) in table["layers"].as_array().unwrap().iter().enumerate() {
        for (name, may_use) in layer["crates"].as_table().unwrap() {
            let before = layers.insert(name.clone(), number);
            assert_eq!(before, None, "{FILE}: {name} stands in two layers");
            uses.entry(name.clone()).or_default().code = names(may_use);
        }
    }
    for (name, may_use) in table["tests"].as_table().unwrap() {
        uses.entry(name.clone()).or_default().tests = names(may_use);
    }
    Permitted { layers, uses, for_tests: names(&table["for_tests"]) }
}

/// Crates of this workspace that a table of dependencies names.
fn named(dependencies: Option<&toml::Value>) -> Names {
    let names = dependencies.and_then(toml::Value::as_table).into_iter().flatten();
    let package = |(key, value): (&String, &toml::Value)| {
        value.get("package").and_then(toml::Value::as_str).unwrap_or(key).strip_prefix("quiclab-").map(str::to_owned)
    };
    names.filter_map(package).collect()
}

/// What every crate uses, by its Cargo.toml, whose path is also returned.
fn used() -> BTreeMap<String, (String, Uses)> {
    let manifest = |folder: &PathBuf| {
        let path = folder.join("Cargo.toml");
        let table: toml::Table = fs::read_to_string(repository().join(&path)).unwrap().parse().unwrap();
        let mut uses = Uses::default();
        // Dependencies of one kind of machine only stand in tables of their own.
        let targets = table.get("target").and_then(toml::Value::as_table).into_iter().flatten();
        for table in [&table].into_iter().chain(targets.filter_map(|(_, target)| target.as_table())) {
            uses.code.extend(named(table.get("dependencies")));
            uses.code.extend(named(table.get("build-dependencies")));
            uses.tests.extend(named(table.get("dev-dependencies")));
        }
        let name = table["package"]["name"].as_str().unwrap();
        (name.strip_prefix("quiclab-").unwrap_or(name).to_owned(), (path.display().to_string(), uses))
    };
    crates().iter().map(manifest).collect()
}

#[test]
fn crates_use_what_the_table_permits() {
    let Permitted { layers, uses: permitted, for_tests } = permitted();
    let mut wrong = Vec::new();
    for (name, (manifest, uses)) in used() {
        let Some(may_use) = permitted.get(&name).filter(|_| layers.contains_key(&name)) else {
            wrong.push(format!("{FILE}: {name} is missing: give it a layer ({manifest})"));
            continue;
        };
        for other in uses.code.difference(&may_use.code) {
            wrong.push(if for_tests.contains(other) {
                format!("{manifest}: {name} uses {other}, which is for tests only: make it a dev-dependency")
            } else {
                format!("{manifest}: {name} uses {other}, which {FILE} does not permit")
            });
        }
        for other in may_use.code.difference(&uses.code) {
            wrong.push(format!("{FILE}: {name} may use {other}, but does not: remove that"));
        }
        let for_its_tests: Names = uses.tests.iter().filter(|other| *other != TESTING).cloned().collect();
        for other in for_its_tests.difference(&may_use.tests) {
            wrong.push(format!("{manifest}: tests of {name} use {other}, which [tests] of {FILE} does not permit"));
        }
        for other in may_use.tests.difference(&for_its_tests) {
            wrong.push(format!("{FILE}: tests of {name} may use {other}, but do not: remove that"));
        }
    }
    assert!(
        wrong.is_empty(),
        "what a crate does not know cannot break it, so a new arrow between crates is a decision:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_permission_leads_to_a_lower_layer() {
    let Permitted { layers, uses, for_tests } = permitted();
    let there = used();
    let mut wrong = Vec::new();
    for (name, uses) in &uses {
        if !there.contains_key(name) {
            wrong.push(format!("{name}: there is no such crate"));
        }
        let Some(layer) = layers.get(name) else { continue };
        let is_lower = |other: &String| layers.get(other).is_some_and(|lower| lower < layer);
        for other in uses.code.iter().filter(|other| !is_lower(other) || for_tests.contains(*other)) {
            wrong.push(format!("{name} may not use {other}: it is for tests, or no crate of a lower layer"));
        }
        for other in uses.tests.iter().filter(|other| !is_lower(other)) {
            wrong.push(format!("tests of {name} may not use {other}: it is no crate of a lower layer"));
        }
    }
    assert!(wrong.is_empty(), "{FILE}:\n{}", wrong.join("\n"));
}

/// The agent's bytes are part of the identity of every run.
#[test]
fn every_crate_of_the_agent_is_built_the_same_in_every_folder() {
    const WRAPPER: &str = ".cargo/rustc";
    let used = used();
    let (mut linked, mut next) = (Names::new(), vec!["agent".to_owned()]);
    while let Some(name) = next.pop() {
        next.extend(used[&name].1.code.iter().cloned());
        linked.insert(name);
    }
    let wrapper = fs::read_to_string(repository().join(WRAPPER)).unwrap();
    let named = wrapper.split("--crate-name quiclab_").skip(1).filter_map(|rest| rest.split(' ').next());
    let named: Names = named.map(|name| name.replace('_', "-")).collect();
    assert_eq!(named, linked, "{WRAPPER}: left what it names, right what the agent is linked from");
}
