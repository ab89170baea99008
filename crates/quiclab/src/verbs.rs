//! What each verb does: one file per verb. `main.rs` hands over plain values of what the command line asks for.

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
pub mod ls;
pub mod packets;
pub mod perf;
pub mod perform;
pub mod prepare;
pub mod report;
pub mod run;
pub mod scan;
pub mod stacks;
pub mod verify;
