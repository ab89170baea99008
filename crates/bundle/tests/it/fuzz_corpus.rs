//! Every input that the fuzzer found worth keeping, on the stable compiler: no panic, no wrong answer.
//! The fuzzer itself is `make fuzz`; its inputs are in `fuzz/corpus`.

#[path = "../fuzz_corpus/targets.rs"]
mod targets;

use std::path::Path;

use quiclab_testing::replay;

const CORPORA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus");

#[test]
fn every_input_of_the_corpora_is_survived() {
    replay::every_input(Path::new(CORPORA), &targets::ALL);
}

#[test]
fn every_corpus_has_a_target() {
    replay::every_corpus_has_a_target(Path::new(CORPORA), &targets::ALL, &[]);
}
