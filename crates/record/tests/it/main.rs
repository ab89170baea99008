//! The integration tests of this crate: one executable, a module for each subject.

mod bundle_names;
mod bundles;
mod common;
mod cross_traffic;
mod damage;
mod earlier_schemas;
mod finishing;
mod fuzz_corpus;
mod kinds;
mod logs;
mod models;
mod reference;
