//! The integration tests of this crate: one executable, a module for each subject.

mod bundles;
mod fuzz_corpus;
mod names;
