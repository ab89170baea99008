//! What `quiclab stacks check` does.

use std::{path::PathBuf, time::Duration};

use quiclab_testbed::stack_store::StackRequest;

/// The claims that are checked.
#[derive(Clone, Debug)]
pub struct StacksCheckSettings {
    /// Stacks; empty: all.
    pub names: Vec<String>,
    /// Names of claims, or beginnings of them; empty: all.
    pub claim: Vec<String>,
    /// The names of claims are listed, and nothing is checked.
    pub list: bool,
    /// Where the runs happen.
    pub testbed: Option<String>,
    /// Number of runs in parallel.
    pub jobs: Option<u16>,
    /// Folder for the records.
    pub out: PathBuf,
    /// Time limit of a run, in real time.
    pub wall_timeout: Duration,
    /// The stacks to choose from.
    pub stacks: StackRequest,
    /// JSON is printed instead of text.
    pub json: bool,
}
