//! Which files of a crate use each other.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use crate::{
    paths::paths,
    source::{Source, crates, sources},
};

/// Most files of a crate that use each other in a circle; 6 for a crate that is not listed. Only ever lower one of these.
const LARGEST_CIRCLES: &[(&str, usize)] = &[("wire", 8)];
const LARGEST_CIRCLE: usize = 6;

/// The modules of a crate by their paths, such as `handshake::timer`; the crate itself has an empty one.
struct Modules<'a> {
    by_name: BTreeMap<Vec<String>, &'a Source>,
}

impl<'a> Modules<'a> {
    fn of(krate: &Path, sources: &'a [Source]) -> Self {
        let mut by_name = BTreeMap::new();
        for source in sources {
            let Ok(below) = source.path.strip_prefix(krate.join("src")) else { continue };
            let mut name: Vec<_> =
                below.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if name.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
                name.pop();
            }
            by_name.insert(name, source);
        }
        Self { by_name }
    }

    /// Which modules the one of that name uses, apart from the crate's own root, which only hands names on.
    fn used_by(&self, name: &[String]) -> BTreeSet<Vec<String>> {
        let mut used = BTreeSet::new();
        let mut add = |path: &[String]| {
            if let Some(module) = self.module_of(name, path).filter(|module| !module.is_empty() && module != name) {
                used.insert(module);
            }
        };
        paths(self.by_name[name].tokens.clone(), &mut add);
        used
    }

    /// The module of what a path begins with; `None` where that is no module of this crate.
    fn module_of(&self, from: &[String], path: &[String]) -> Option<Vec<String>> {
        let (mut module, mut rest) = match path.first()?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (from.to_vec(), &path[1..]),
            "super" => (from.to_vec(), path),
            // A child by its own name.
            child => {
                let is_child = self.by_name.contains_key(&[from, &[child.to_owned()]].concat());
                (is_child.then(|| from.to_vec())?, path)
            }
        };
        while rest.first().is_some_and(|word| word == "super") {
            module.pop();
            rest = &rest[1..];
        }
        for word in rest {
            let longer = [&module[..], std::slice::from_ref(word)].concat();
            if !self.by_name.contains_key(&longer) {
                break;
            }
            module = longer;
        }
        Some(module)
    }
}

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
fn no_circle_of_files_becomes_larger() {
    let sources = sources(false);
    let sources: Vec<_> = sources.into_iter().filter(|source| !source.path.ends_with("tests.rs")).collect();
    let mut wrong = Vec::new();
    for krate in crates() {
        let modules = Modules::of(&krate, &sources);
        let names = modules.by_name.keys().filter(|name| !name.is_empty());
        let edges: BTreeMap<_, _> = names.map(|name| (name.clone(), modules.used_by(name))).collect();
        let circle = largest_circle(&edges);
        let name = krate.file_name().unwrap().to_string_lossy().into_owned();
        let most = LARGEST_CIRCLES.iter().find(|(of, _)| *of == name).map_or(LARGEST_CIRCLE, |(_, most)| *most);
        let is_listed_for_nothing = most > LARGEST_CIRCLE && circle.len() < most;
        if circle.len() > most || is_listed_for_nothing {
            let names: Vec<_> = circle.iter().map(|name| name.join("::")).collect();
            wrong.push(format!("{name}: found {}, expected {most}: {}", circle.len(), names.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "files that use each other in a circle:\n{}", wrong.join("\n"));
}
