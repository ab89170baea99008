//! The integration tests of this crate: one executable, a module for each subject.

mod common;
mod judges;
mod path_judges;
mod perf;
mod reference;
mod robustness;
