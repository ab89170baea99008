//! Every input that the fuzzer found worth keeping, on the stable compiler: no panic, no wrong answer.
//! The fuzzer itself is `make fuzz`; its inputs are in `fuzz/corpus`.

#[path = "../fuzz_corpus/replay.rs"]
mod replay;
#[path = "../fuzz_corpus/targets.rs"]
mod targets;

#[test]
fn every_input_of_the_corpora_is_survived() {
    replay::every_input(&targets::ALL);
}

#[test]
fn every_corpus_has_a_target() {
    replay::every_corpus_has_a_target(&targets::ALL);
}
