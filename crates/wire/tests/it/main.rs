//! The integration tests of this crate: one executable, a module for each subject.

mod common;
mod containers;
mod dissection;
mod frames;
mod fuzz_corpus;
mod qlog;
mod robustness;
mod sealed;
mod tshark;
mod writer;
