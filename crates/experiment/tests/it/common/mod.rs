//! Stacks to plan with.

#![allow(dead_code, reason = "each test program uses its own part")]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use quiclab_experiment::{Experiment, ExperimentError, Overrides, Plan, stack::StackManifest};

/// Stacks as there may be, whatever those of this repository can do today.
pub fn stacks() -> BTreeMap<String, StackManifest> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stacks");
    parse(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()))
}

/// The stacks of this repository, with every option of their builds.
pub fn real_stacks() -> BTreeMap<String, StackManifest> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks");
    let folders = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().join("stack.toml"));
    let mut stacks = parse(folders.filter(|path| path.is_file()));
    let variants: Vec<_> = stacks.values().flat_map(StackManifest::variants).collect();
    stacks.extend(variants.into_iter().map(|(_, manifest)| (manifest.name.clone(), manifest)));
    stacks
}

fn parse(files: impl Iterator<Item = PathBuf>) -> BTreeMap<String, StackManifest> {
    files
        .map(|path| {
            let name = path.display().to_string();
            let manifest = StackManifest::parse(&name, &fs::read_to_string(path).unwrap()).unwrap();
            (manifest.name.clone(), manifest)
        })
        .collect()
}

/// Parses and plans.
pub fn plan(text: &str) -> Result<Plan, ExperimentError> {
    Experiment::parse("x.toml", text, None)?.plan(&stacks(), &Overrides::default())
}

/// A file with the two lines that every one has, and these.
pub fn with(lines: &str) -> String {
    format!("name = \"x\"\ntitle = \"x\"\n{lines}")
}
