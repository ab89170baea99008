//! The integration tests of this crate: one executable, a module for each subject.

mod fuzz_corpus;
mod oci_corpus;
