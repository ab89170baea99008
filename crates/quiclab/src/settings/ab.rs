//! What `quiclab ab` does.

use std::{path::PathBuf, time::Duration};

use super::JudgeSettings;

/// The change, in percent of A, that is looked for unless another one is given.
pub const SMALLEST_CHANGE: f64 = 5.0;

/// When to stop repeating.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// The number of runs of both sides together.
    Runs(usize),
    /// Time of this machine.
    Time(Duration),
}

/// Two sides, what is run on both, and how they are judged.
#[derive(Clone, Debug)]
pub struct AbSettings {
    /// A and B, and experiment files, as they were typed.
    pub paths: Vec<String>,
    /// Settings of A alone.
    pub a: Vec<(String, String)>,
    /// Settings of B alone.
    pub b: Vec<(String, String)>,
    /// Settings of both, which replace those of the files.
    pub set: Vec<(String, String)>,
    /// A profile that the files define.
    pub profile: Option<String>,
    /// Key and value that each run must have.
    pub filters: Vec<(String, String)>,
    /// Number of repetitions of a side, instead of the files'.
    pub repetitions: Option<u32>,
    /// Runs are repeated until every condition is decided.
    pub until_decided: bool,
    /// When `until_decided` gives up.
    pub budget: Option<Budget>,
    /// The change, in percent of A, that `until_decided` looks for where there are no conditions.
    pub smallest_change: f64,
    /// The testbed, which has to be in virtual time; the default one where none is named.
    pub testbed: Option<String>,
    /// Number of virtual machines in parallel.
    pub jobs: Option<u16>,
    /// Folder for the records of both sides.
    pub out: Option<PathBuf>,
    /// Time limit of a run, in real time.
    pub wall_timeout: Duration,
    /// Folder of the shipped stacks.
    pub stacks: Option<PathBuf>,
    /// Whether A and B are built again.
    pub rebuild: bool,
    /// What to decide, and how to show it.
    pub judge: JudgeSettings,
}
