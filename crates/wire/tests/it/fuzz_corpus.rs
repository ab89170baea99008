//! Every input that the fuzzer found worth keeping, on the stable compiler: no panic, no wrong answer.
//! The fuzzer itself is `make fuzz`; its inputs are in `fuzz/corpus`.

#[allow(dead_code, reason = "examples/write_fuzz_seeds.rs writes them")]
#[path = "../fuzz_corpus/seeds.rs"]
mod seeds;
#[path = "../fuzz_corpus/targets.rs"]
pub mod targets;

use std::path::Path;

use quiclab_testing::replay;

const CORPORA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus");

#[test]
fn captures_are_survived() {
    replay::one(Path::new(CORPORA), &targets::ALL, "capture");
}

#[test]
fn datagrams_are_survived() {
    replay::one(Path::new(CORPORA), &targets::ALL, "quic");
}

#[test]
fn connections_are_read_as_they_were_built() {
    replay::one(Path::new(CORPORA), &targets::ALL, "connection");
}

#[test]
fn frames_are_survived() {
    replay::one(Path::new(CORPORA), &targets::ALL, "frames");
}

#[test]
fn qlogs_are_survived() {
    replay::one(Path::new(CORPORA), &targets::ALL, "qlog");
}

#[test]
fn key_logs_are_survived() {
    replay::one(Path::new(CORPORA), &targets::ALL, "key_log");
}

#[test]
fn every_corpus_has_a_target() {
    replay::every_corpus_has_a_target(Path::new(CORPORA), &targets::ALL, &[]);
}

/// The plaintext of an input is of use only if the dissector opens what is made of it.
#[test]
fn a_packet_protected_here_is_opened() {
    seeds::assert_sealed_packets_are_opened();
}
