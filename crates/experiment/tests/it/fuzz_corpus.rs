//! Every input that the fuzzer found worth keeping, on the stable compiler: no panic, no wrong result.
//! The fuzzer itself is `make fuzz`; its inputs are in `fuzz/corpus`.

#[path = "../fuzz_corpus/targets.rs"]
mod targets;

use std::path::{Path, PathBuf};

fn replay(target: &str) {
    let (_, run) = targets::ALL.into_iter().find(|(name, _)| *name == target).expect("a target of this name");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut inputs: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "no input in {}", folder.display());
    for path in inputs {
        let input = std::fs::read(&path).unwrap();
        if let Err(panic) = std::panic::catch_unwind(|| run(&input)) {
            eprintln!("with {}", path.display());
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn experiment_and_scenario_files_are_survived() {
    replay("experiment");
}

#[test]
fn manifests_are_survived() {
    replay("manifest");
}
