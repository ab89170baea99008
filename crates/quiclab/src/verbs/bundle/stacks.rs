//! The stacks of the runs: what each is, and its files.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use anyhow::Result;
use quiclab_experiment::AnyRun;
use quiclab_record::RunFile;
use quiclab_testbed::{
    registry::{default_testbed, testbed_of},
    stack::all_files,
    stack_store::{StackRequest, StackStore},
};
use serde::{Deserialize, Serialize};

use crate::terminal::progress;

/// What `bundle.json` says of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Its version, as its manifest has it.
    pub version: String,
    /// Its licence, as an SPDX expression.
    pub licence: String,
    /// Its folder in the bundle.
    pub folder: String,
}

/// A stack that is packed.
pub struct Packed {
    /// What it is.
    pub about: About,
    /// Its files, by their names in the bundle.
    pub files: BTreeMap<String, PathBuf>,
}

/// The stacks of `runs`. One that is not on this machine any more is skipped, which is said.
///
/// # Errors
/// Where a file of a stack cannot be read.
pub fn find(runs: &BTreeMap<String, RunFile<AnyRun>>, request: &StackRequest) -> Result<BTreeMap<String, Packed>> {
    let bases = |run: &RunFile<AnyRun>| -> Vec<String> {
        let base = |name: &str| name.split_once(' ').map_or(name, |(base, _)| base).to_owned();
        run.run.stacks().into_iter().map(|name| base(name)).collect()
    };
    let names: BTreeSet<String> = runs.values().flat_map(bases).collect();
    let mut packed = BTreeMap::new();
    let Some(first) = runs.values().find(|run| !run.run.stacks().is_empty()) else { return Ok(packed) };
    let testbed = testbed_of(&first.versions).unwrap_or_else(|_| default_testbed());
    let request = StackRequest { rebuild: false, ..request.clone() };
    let stack_store = match StackStore::find(&*testbed, &request, Arc::default(), progress::say) {
        Ok(stack_store) => stack_store,
        Err(error) => {
            status!("quiclab: skipping the files of the stacks: {error:#}");
            return Ok(packed);
        }
    };
    for name in names {
        let Ok(source) = stack_store.source(&name) else {
            status!("quiclab: skipping the files of {name}, which is not among the stacks here\nhint: --stack PATH");
            continue;
        };
        let top = testbed.stacks_folder();
        let files = all_files(source)?;
        let files = files.into_iter().map(|(below, path)| (format!("{top}/{}", below.display()), path)).collect();
        let about = About {
            version: source.manifest.version.clone(),
            licence: source.manifest.licence.clone(),
            folder: format!("{top}/{name}"),
        };
        packed.insert(name, Packed { about, files });
    }
    Ok(packed)
}
