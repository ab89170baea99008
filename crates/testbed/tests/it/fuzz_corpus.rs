//! Every input that the fuzzer found worth keeping, on the stable compiler: no panic, no wrong answer.
//! The fuzzer itself is `make fuzz`; its inputs are in `fuzz/corpus`.

#[path = "../fuzz_corpus/targets.rs"]
mod targets;

use std::path::Path;

use quiclab_testing::replay;

const CORPORA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus");

#[test]
fn slots_of_any_bytes_are_survived() {
    replay::one(Path::new(CORPORA), &targets::ALL, "slot");
}

#[test]
fn forged_results_are_survived() {
    replay::one(Path::new(CORPORA), &targets::ALL, "results");
}

#[test]
fn forged_rings_are_survived() {
    replay::one(Path::new(CORPORA), &targets::ALL, "ring");
}

#[test]
fn answers_of_programs_are_survived() {
    replay::one(Path::new(CORPORA), &targets::ALL, "program_answer");
}

#[test]
fn answers_of_hosts_are_survived() {
    replay::one(Path::new(CORPORA), &targets::ALL, "hosts");
}

#[test]
fn every_corpus_has_a_target() {
    // Archives of images have a test of their own.
    replay::every_corpus_has_a_target(Path::new(CORPORA), &targets::ALL, &["oci"]);
}
