//! Replays corpora of the fuzzer, for every crate that has some.

use std::{fs, path::Path};

/// A target of the fuzzer: the name of its corpus, and what it calls with an input.
pub type Target = (&'static str, fn(&[u8]));

/// Writes the tests of a crate that replays every input of all its corpora, which are in its folder `fuzz/corpus`. Takes its targets.
#[macro_export]
macro_rules! replay_corpora {
    ($targets:expr) => {
        /// The folder of the corpora.
        const CORPORA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus");

        #[test]
        fn every_input_of_the_corpora_is_survived() {
            $crate::replay::every_input(std::path::Path::new(CORPORA), $targets);
        }

        #[test]
        fn every_corpus_has_a_target() {
            $crate::replay::every_corpus_has_a_target(std::path::Path::new(CORPORA), $targets, &[]);
        }
    };
}

/// Gives every target every input of its corpus in this folder.
///
/// # Panics
/// As a target does, once the input is named; and where a corpus has no input.
pub fn every_input(corpora: &Path, targets: &[Target]) {
    for (name, run) in targets {
        every_input_of(&corpora.join(name), *run);
    }
}

/// Gives a target every input of the corpus of this name.
///
/// # Panics
/// As [`every_input`] does, and where no target has the name.
pub fn one(corpora: &Path, targets: &[Target], name: &str) {
    let (_, run) = targets.iter().find(|(target, _)| *target == name).expect("a target of this name");
    every_input_of(&corpora.join(name), *run);
}

/// Gives a target every input in this folder.
///
/// # Panics
/// As [`every_input`] does.
pub fn every_input_of(folder: &Path, run: fn(&[u8])) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut inputs: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "no input in {}", folder.display());
    for path in inputs {
        let input = fs::read(&path).expect("an input");
        if let Err(panic) = std::panic::catch_unwind(|| run(&input)) {
            eprintln!("with {}", path.display());
            std::panic::resume_unwind(panic);
        }
    }
}

/// Fails for a corpus in this folder that no target replays. Those that are named in `elsewhere` have a test of their own.
///
/// # Panics
/// Where there is one.
pub fn every_corpus_has_a_target(corpora: &Path, targets: &[Target], elsewhere: &[&str]) {
    for entry in fs::read_dir(corpora).expect("corpora") {
        let name = entry.expect("an entry").file_name().into_string().expect("a name");
        let is_known = elsewhere.contains(&name.as_str()) || targets.iter().any(|(target, _)| *target == name);
        assert!(is_known, "no target replays the corpus {name}");
    }
}
