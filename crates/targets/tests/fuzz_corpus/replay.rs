//! Replays corpora of the fuzzer, for every crate that has some.

use std::{fs, path::Path};

/// A target of the fuzzer: its name, and what it calls with an input.
pub type Target = (&'static str, fn(&[u8]));

/// Gives a target every input of its corpus, in the folder `fuzz/corpus` of the crate whose test this is.
pub fn every_input(targets: &[Target]) {
    for (name, run) in targets {
        every_input_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name), *run);
    }
}

/// The same with the inputs in a folder.
pub fn every_input_of(folder: &Path, run: fn(&[u8])) {
    let mut inputs: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "no input in {}", folder.display());
    for path in inputs {
        let input = fs::read(&path).unwrap();
        if let Err(panic) = std::panic::catch_unwind(|| run(&input)) {
            eprintln!("with {}", path.display());
            std::panic::resume_unwind(panic);
        }
    }
}

/// Fails for a corpus that nothing replays.
pub fn every_corpus_has_a_target(targets: &[Target]) {
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(targets.iter().any(|(target, _)| *target == name), "{name}");
    }
}
