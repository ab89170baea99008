//! The integration tests of this crate: one executable, a module for each subject.

mod common;
mod errors;
mod every_setting;
mod expectations;
mod experiments;
mod figures;
mod former_names;
mod fuzz_corpus;
mod manifests;
mod named_files;
mod own_stacks;
mod paths;
mod plans;
mod precedence;
mod reference;
mod refused_plans;
mod robustness;
mod scenarios;
mod set;
mod settings_without_effect;
mod stored_runs;
mod transfer_figures;
mod uploads;
