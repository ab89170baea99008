//! The modules of a crate, and which of them a path in the code means.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use crate::{paths::paths, source::Source};

/// The modules of a crate by their paths, such as `handshake::timer`; the crate itself has an empty one.
pub struct Modules<'a> {
    /// The file of each module.
    pub by_name: BTreeMap<Vec<String>, &'a Source>,
}

impl<'a> Modules<'a> {
    /// Finds the modules of a crate among all files.
    pub fn of(krate: &Path, sources: &'a [Source]) -> Self {
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
    pub fn used_by(&self, name: &[String]) -> BTreeSet<Vec<String>> {
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
    pub fn module_of(&self, from: &[String], path: &[String]) -> Option<Vec<String>> {
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
