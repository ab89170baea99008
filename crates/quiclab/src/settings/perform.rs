//! What `quiclab tools perform` does.

use std::{path::PathBuf, time::Duration};

use quiclab_testbed::stack_store::StackRequest;

/// The runs that are performed, and where their records go.
#[derive(Clone, Debug)]
pub struct PerformSettings {
    /// A resolved run, a record's run.toml, or a list of runs.
    pub file: PathBuf,
    /// Folder of the record of the one run.
    pub record: Option<PathBuf>,
    /// Folder of the records of all runs of a list.
    pub records: Option<PathBuf>,
    /// The process with whose end the run ends.
    pub with_parent: Option<u32>,
    /// A stack that is not built yet is an error, and is not built.
    pub no_build: bool,
    /// Where the runs happen.
    pub testbed: Option<String>,
    /// Time limit of a run, in real time.
    pub wall_timeout: Duration,
    /// Runs do not wait for their turn on this machine.
    pub no_wait: bool,
    /// The stacks to choose from.
    pub stacks: StackRequest,
    /// JSON is printed instead of text.
    pub json: bool,
}
