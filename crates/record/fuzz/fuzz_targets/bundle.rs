#![no_main]

#[path = "../../tests/fuzz_corpus/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|input: &[u8]| targets::bundle::bundle(input));
