//! The integration tests of this crate: one executable, a module for each subject.

mod bundles;
mod names;
