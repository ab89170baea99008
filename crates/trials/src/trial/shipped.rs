//! The stacks of this repository, for tests.

use std::{collections::BTreeMap, path::Path};

use quiclab_experiment::stack::StackManifest;
use quiclab_testbed::stack::sources;

/// Manifests of all of them, by name.
pub fn manifests() -> BTreeMap<String, StackManifest> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stacks");
    sources(&folder).unwrap().into_iter().map(|(name, source)| (name, source.manifest)).collect()
}
