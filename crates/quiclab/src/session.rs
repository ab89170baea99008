//! What verbs that perform runs have in common: plans, testbeds with their stacks, files that a user names, interruption.

pub mod bounded_input;
pub mod command_words;
pub mod experiment_files;
pub mod laboratory;
pub mod pipe;
pub mod plan_words;
pub mod planned;
pub mod prepared_archive;
pub mod resolved;
pub mod schedule;
pub mod signals;
