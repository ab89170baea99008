//! Every input that the fuzzer found worth keeping, on the stable compiler: no panic, no wrong answer.
//! The fuzzer itself is `make fuzz`; its inputs are in `fuzz/corpus`.

#[path = "../fuzz_corpus/targets.rs"]
mod targets;

use std::path::{Path, PathBuf};

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target)
}

fn replay(target: &str) {
    let (_, run) = targets::ALL.into_iter().find(|(name, _)| *name == target).expect("a target of this name");
    let mut inputs: Vec<PathBuf> =
        std::fs::read_dir(folder(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "no input in {}", folder(target).display());
    for path in inputs {
        let input = std::fs::read(&path).unwrap();
        if let Err(panic) = std::panic::catch_unwind(|| run(&input)) {
            eprintln!("with {}", path.display());
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn slots_of_any_bytes_are_survived() {
    replay("slot");
}

#[test]
fn forged_results_are_survived() {
    replay("results");
}

#[test]
fn forged_rings_are_survived() {
    replay("ring");
}

#[test]
fn answers_of_programs_are_survived() {
    replay("program_answer");
}

#[test]
fn every_corpus_has_a_target() {
    for entry in std::fs::read_dir(folder("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        // Archives of images have a test of their own.
        if name == "oci" {
            continue;
        }
        assert!(targets::ALL.iter().any(|(target, _)| *target == name), "{name}");
    }
}
