//! Which files of a crate use each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    modules::Modules,
    source::{crates, sources},
};

/// Most files of a crate that use each other in a circle.
const LARGEST_CIRCLE: usize = 6;

/// The largest set of modules each of which leads to every other, in order.
fn largest_circle(edges: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>) -> Vec<Vec<String>> {
    let reached = |start: &Vec<String>| {
        let mut reached = BTreeSet::new();
        let mut waiting: Vec<_> = edges[start].iter().collect();
        while let Some(next) = waiting.pop() {
            if reached.insert(next) {
                waiting.extend(edges.get(next).into_iter().flatten());
            }
        }
        reached
    };
    let all: BTreeMap<_, _> = edges.keys().map(|name| (name, reached(name))).collect();
    let circle = |name: &Vec<String>| -> Vec<Vec<String>> {
        all[name]
            .iter()
            .filter(|other| all.get(**other).is_some_and(|back| back.contains(name)))
            .map(|other| (*other).clone())
            .collect()
    };
    edges.keys().map(circle).max_by_key(Vec::len).unwrap_or_default()
}

#[test]
fn no_circle_of_files_is_large() {
    let sources = sources(false);
    let sources: Vec<_> = sources.into_iter().filter(|source| !source.path.ends_with("tests.rs")).collect();
    let mut wrong = Vec::new();
    for krate in crates() {
        let modules = Modules::of(&krate, &sources);
        let names = modules.by_name.keys().filter(|name| !name.is_empty());
        let edges: BTreeMap<_, _> = names.map(|name| (name.clone(), modules.used_by(name))).collect();
        let circle = largest_circle(&edges);
        let name = krate.file_name().unwrap().to_string_lossy().into_owned();
        if circle.len() > LARGEST_CIRCLE {
            let names: Vec<_> = circle.iter().map(|name| name.join("::")).collect();
            wrong.push(format!(
                "{name}: found {}, expected at most {LARGEST_CIRCLE}: {}",
                circle.len(),
                names.join(", ")
            ));
        }
    }
    assert!(wrong.is_empty(), "files that use each other in a circle:\n{}", wrong.join("\n"));
}
