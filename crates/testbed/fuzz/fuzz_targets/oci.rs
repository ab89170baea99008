#![no_main]

// Shared with the code that it calls, by its name in the crate.
use quiclab_testbed::hash;

#[path = "../../tests/fuzz_corpus/oci.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|input: &[u8]| target::oci(input));
