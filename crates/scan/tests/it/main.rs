//! The integration tests of this crate: one executable, a module for each subject.

mod common;
mod fuzz_corpus;
mod handshakes;
mod hostile;
mod origin;
mod targets;
