//! The integration tests of this crate: one executable, a module for each subject.

// What images for tests are made with is shared with the unit tests, which call it by its name in their crate.
use quiclab_testbed::hash;

mod fuzz_corpus;
mod oci_corpus;
mod uml_kernel;
