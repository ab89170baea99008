//! The integration tests of this crate: one executable, a module for each subject.

mod exclusions;
mod fuzz_corpus;
mod journal;
mod journal_killed;
mod lists;
mod long_lists;
mod resolve;
mod resolver;
mod scan;
