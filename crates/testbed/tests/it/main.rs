//! The integration tests of this crate: one executable, a module for each subject.

mod fuzz_corpus;
mod oci_corpus;

// Code that the fuzzer shares with this crate calls it by its name there.
use quiclab_testbed::hash;
