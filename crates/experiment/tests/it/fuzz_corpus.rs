//! Every input that the fuzzer found worth keeping, on the stable compiler: no panic, no wrong result.
//! The fuzzer itself is `make fuzz`; its inputs are in `fuzz/corpus`.

#[path = "../fuzz_corpus/targets.rs"]
mod targets;

use std::path::Path;

use quiclab_testing::replay;

const CORPORA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus");

#[test]
fn experiment_and_scenario_files_are_survived() {
    replay::one(Path::new(CORPORA), &targets::ALL, "experiment");
}

#[test]
fn manifests_are_survived() {
    replay::one(Path::new(CORPORA), &targets::ALL, "manifest");
}
