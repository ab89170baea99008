//! The integration tests of this crate: one executable, a module for each subject.

mod common;
mod files;
mod memory;
mod readers;
mod reference;
mod rows;
