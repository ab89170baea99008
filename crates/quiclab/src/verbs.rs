//! What each verb does: one file per verb. None uses the command line; `main.rs` hands over what it asked for.

pub mod ab;
pub mod advise;
pub mod analyze;
pub mod bundle;
pub mod cache;
pub mod campaign;
pub mod check;
pub mod diff;
pub mod doctor;
pub mod help;
pub mod interop;
pub mod kernel;
pub mod look;
pub mod packets;
pub mod perf;
pub mod perform;
pub mod prepare;
pub mod report;
pub mod run;
pub mod scan;
pub mod stacks;
pub mod verify;
