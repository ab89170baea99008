//! What verbs do, resolved from the command line: plain values that know nothing of how arguments are parsed.

mod ab;
mod judge;
mod run;

pub use ab::{AbSettings, Budget};
pub use judge::JudgeSettings;
pub use run::{MOST_REPETITIONS, RunAction, RunSettings, WAIT_FOR_QUIET, WALL_TIMEOUT};
